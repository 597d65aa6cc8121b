-- SPDX-License-Identifier: GPL-2.0-only
-- UPDATE of a column without index in the rows of an IN list of random ids.
require("micro")

sysbench.cmdline.options.points = {"Length of the IN list", 100}

function prepare_statements()
   local count = sysbench.opt.points
   prepare_with("update", string.format("UPDATE sbtest@ SET c = ? WHERE id IN (%s)", marks(count)),
                ints(count, {{sysbench.sql.type.CHAR, 120}}))
end

function event()
   local t = any_table()
   param[t].update[1]:set(get_c_value())
   for p = 1, sysbench.opt.points do
      param[t].update[1 + p]:set(any_id())
   end
   stmt[t].update:execute()
end
