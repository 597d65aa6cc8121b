-- SPDX-License-Identifier: GPL-2.0-only
-- SELECT of rows named by an IN list: random or fixed points, covered by the index or not.
require("micro")

local options = sysbench.cmdline.options
options.points = {"Length of the IN list", 100}
options.column = {"Column of the list: id or k", "id"}
options.select = {"What is selected", "c"}
options.hot = {"Always the same adjacent values from the middle of the table", false}

function prepare_statements()
   local opt = sysbench.opt
   prepare_with("points", string.format("SELECT %s FROM sbtest@ FORCE INDEX (%s) WHERE %s IN (%s)", opt.select,
                                        index_of(opt.column), opt.column, marks(opt.points)), ints(opt.points))
end

function event()
   local t = any_table()
   local middle = math.floor(sysbench.opt.table_size / 2)
   for p = 1, sysbench.opt.points do
      param[t].points[p]:set(sysbench.opt.hot and middle + p or any_id())
   end
   stmt[t].points:execute()
end
