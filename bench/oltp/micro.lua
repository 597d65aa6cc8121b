-- SPDX-License-Identifier: GPL-2.0-only
-- What the scripts of this folder share, on top of sysbench's own oltp_common: its tables, its options,
-- and its tables of statements (stmt) and parameters (param), which it makes, closes and makes anew.
require("oltp_common")

-- Prepares `sql` for each table under `key`. "@" in it stands for the table's number; `types` has a type
-- for each "?".
function prepare_with(key, sql, types)
   for t = 1, sysbench.opt.tables do
      local statement = con:prepare((string.gsub(sql, "@", t)))
      local bound = {}
      for p = 1, #types do
         bound[p] = type(types[p]) == "table" and statement:bind_create(types[p][1], types[p][2])
            or statement:bind_create(types[p])
      end
      statement:bind_param(unpack(bound))
      stmt[t][key], param[t][key] = statement, bound
   end
end

-- `count` times INT, after what `first` has.
function ints(count, first)
   local types = first or {}
   for _ = 1, count do
      types[#types + 1] = sysbench.sql.type.INT
   end
   return types
end

-- "?, ?, ?" for an IN list.
function marks(count)
   return string.rep("?, ", count - 1) .. "?"
end

function any_table()
   return sysbench.rand.uniform(1, sysbench.opt.tables)
end

function any_id()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

-- The index whose first part is `column`: always named, so that all engines do the same work.
function index_of(column)
   return column == "id" and "PRIMARY" or "k_@"
end
