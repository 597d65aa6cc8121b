-- SPDX-License-Identifier: GPL-2.0-only
-- Makes and fills one table just as sysbench's own scripts do, and ends. It is run, not prepared: of all
-- commands only `run` heeds --rand-seed, and by it every engine gets the same rows.
require("oltp_common")

sysbench.cmdline.options.table = {"Number of the table to make", 1}
sysbench.cmdline.options.table_options = {"SQL appended to CREATE TABLE", ""}

function prepare_statements()
   mysql_table_options = sysbench.opt.table_options
end

function event()
   create_table(drv, con, sysbench.opt.table)
   return true
end
