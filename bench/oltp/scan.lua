-- SPDX-License-Identifier: GPL-2.0-only
-- One statement that reads a whole table: thread i on table i, or all on one. Either for --time, or
-- --passes times by each thread, and then the first row of the last pass is printed, for comparison.
require("oltp_common")
local ffi = require("ffi")

local options = sysbench.cmdline.options
options.statement = {"The statement; @ stands for the table's number", "SELECT * FROM sbtest@ WHERE LENGTH(c) < 0"}
options.passes = {"Scans by each thread; 0: as many as fit into --time", 0}

function prepare_statements()
   sql = string.gsub(sysbench.opt.statement, "@", sysbench.tid % sysbench.opt.tables + 1)
end

function event()
   rows = con:query(sql)
end

local function print_row(thread)
   local row = rows and rows.nrows > 0 and rows:fetch_row() or {}
   local values = {}
   for i = 1, #row do
      values[i] = tostring(row[i])
   end
   -- One write, so that the lines of several threads do not mix.
   io.stdout:write(string.format("result of thread %d: %s\n", thread, table.concat(values, " ")))
end

local run_for_a_time = thread_run

function thread_run(thread)
   if sysbench.opt.passes == 0 then
      return run_for_a_time(thread)
   end
   for _ = 1, sysbench.opt.passes do
      ffi.C.sb_event_start(thread)
      event()
      ffi.C.sb_event_stop(thread)
   end
   print_row(thread)
end
