-- SPDX-License-Identifier: GPL-2.0-only
-- SELECT of the rows between x and x + span by an index, covered by it or not.
require("micro")

local options = sysbench.cmdline.options
options.span = {"Difference of the range's ends", 100}
options.column = {"Column of the range: id or k", "id"}
options.select = {"What is selected", "c"}

function prepare_statements()
   local opt = sysbench.opt
   prepare_with("range", string.format("SELECT %s FROM sbtest@ FORCE INDEX (%s) WHERE %s BETWEEN ? AND ?", opt.select,
                                       index_of(opt.column), opt.column), ints(2))
end

function event()
   local t, first = any_table(), any_id()
   param[t].range[1]:set(first)
   param[t].range[2]:set(first + sysbench.opt.span)
   stmt[t].range:execute()
end
