-- SPDX-License-Identifier: GPL-2.0-only
-- Prints, for a test, how often the hottest rank and the hottest tenth came, and what theory says.
local zipf = require("zipf")

function event()
   local n, s, draws = 1000, 0.8, 400000
   local rank = zipf.new(n, s)
   local first, tenth, least, most = 0, 0, n, 0
   for _ = 1, draws do
      local r = rank(sysbench.rand.uniform_double())
      first = first + (r == 0 and 1 or 0)
      tenth = tenth + (r < n / 10 and 1 or 0)
      least, most = math.min(least, r), math.max(most, r)
   end
   local zeta = zipf.zeta(n, s)
   io.stdout:write(string.format("shares %.5f %.5f of %.5f %.5f, ranks %d to %d\n", first / draws, tenth / draws,
                                 1 / zeta, zipf.zeta(n / 10, s) / zeta, least, most))
   return true
end
