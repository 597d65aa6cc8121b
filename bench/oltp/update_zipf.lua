-- SPDX-License-Identifier: GPL-2.0-only
-- UPDATE of a column without index in rows chosen by a Zipf distribution; id 1 is the hottest.
require("micro")
local zipf = require("zipf")

sysbench.cmdline.options.zipf_exponent = {"Exponent of the Zipf distribution, below 1", "0.8"}

function prepare_statements()
   next_rank = zipf.new(sysbench.opt.table_size, tonumber(sysbench.opt.zipf_exponent))
   prepare_with("update", "UPDATE sbtest@ SET c = ? WHERE id = ?",
                {{sysbench.sql.type.CHAR, 120}, sysbench.sql.type.INT})
end

function event()
   local t = any_table()
   param[t].update[1]:set(get_c_value())
   param[t].update[2]:set(1 + next_rank(sysbench.rand.uniform_double()))
   stmt[t].update:execute()
end
