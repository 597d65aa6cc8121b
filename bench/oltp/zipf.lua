-- SPDX-License-Identifier: GPL-2.0-only
-- Zipf-distributed ranks by the quantile method of Gray et al., "Quickly generating billion-record
-- synthetic databases" (SIGMOD 1994). sysbench 1.0 has no such generator.
local zipf = {}

local EXACT_TERMS = 100000

-- The sum of 1/i^s for i = 1..n; beyond EXACT_TERMS its tail as an integral.
function zipf.zeta(n, s)
   local sum, last = 0, math.min(n, EXACT_TERMS)
   for i = 1, last do
      sum = sum + i ^ -s
   end
   if n > last then
      sum = sum + ((n + 0.5) ^ (1 - s) - (last + 0.5) ^ (1 - s)) / (1 - s)
   end
   return sum
end

-- A function from a uniform number in [0, 1) to a rank in [0, n); rank 0 is the most frequent.
function zipf.new(n, s)
   assert(n >= 1 and s > 0 and s < 1, "a Zipf distribution needs n >= 1 and 0 < s < 1")
   local zeta, alpha = zipf.zeta(n, s), 1 / (1 - s)
   local eta = (1 - (2 / n) ^ (1 - s)) / (1 - (1 + 0.5 ^ s) / zeta)
   return function(u)
      if u * zeta < 1 then
         return 0
      elseif u * zeta < 1 + 0.5 ^ s then
         return math.min(1, n - 1)
      end
      return math.min(n - 1, math.floor(n * (eta * u - eta + 1) ^ alpha))
   end
end

return zipf
