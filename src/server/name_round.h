// SPDX-License-Identifier: GPL-2.0-only
// Gives the server the names of what is prepared, in lists of the length it asks for.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cairn::server {

// The server asks again and again, until a list comes back that is not full. Each name is given once in such a round.
//
// Thread rule: one thread at a time.
class NameRound {
 public:
  // Calls `put` with names of `names`, which may be others by the next call, and with the place in the list, from 0 on, that each is for. Where it
  // returns false, the next name gets the place. Returns how many of the `length` places are taken; fewer end the round.
  unsigned Give(const std::vector<std::string>& names, unsigned length,
                const std::function<bool(const std::string& name, unsigned place)>& put) {
    unsigned count = 0;
    for (const std::string& name : names) {
      if (count == length) break;
      if (given_.insert(name).second && put(name, count)) ++count;
    }
    // After a full list the server asks once more, also where nothing is left.
    if (count < length) given_.clear();
    return count;
  }

 private:
  std::set<std::string> given_;
};

}  // namespace cairn::server
