// SPDX-License-Identifier: GPL-2.0-only
// File descriptors that are kept for a store, as others may take all that the process may have.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <rocksdb/listener.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Connections may take all that open_files_limit allows. A store that cannot open its next log, or its manifest, or the files of committed rows
// that it takes over, has to stop the server, and after a flush that cannot open its file it takes no writes until a restart. So it keeps some
// descriptors open for nothing, and gives up one for each of these files that cannot be opened for want of one. All others get the error: a read, a
// sort or a load fails with its statement, and a merge is begun again.
//
// WriteGateKeeper lets no more writes through until all spares are back, so that there are enough for what it has let through.
//
// Thread rule: any thread.
class SpareDescriptors final : public rocks::EventListener {
 public:
  // A log, and with the most threads that flush (four) a file of each, the manifest and what names it.
  static constexpr size_t kCount = 8;

  SpareDescriptors() { TakeBack(); }
  ~SpareDescriptors() override;
  SpareDescriptors(const SpareDescriptors&) = delete;
  SpareDescriptors& operator=(const SpareDescriptors&) = delete;

  // Closes one. False: none is left.
  bool GiveUp();
  // Opens again what was given up, as far as the process may. True: all are there.
  bool TakeBack();

  // While it lives, whatever its thread opens is worth a spare, not logs and manifests alone.
  class Use {
   public:
    Use() : before_(opens_what_it_needs_) { opens_what_it_needs_ = true; }
    ~Use() { opens_what_it_needs_ = before_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const bool before_;
  };
  static bool InUse() { return opens_what_it_needs_; }

  // Flushes; on their threads.
  void OnFlushBegin(rocks::DB*, const rocks::FlushJobInfo&) override { opens_what_it_needs_ = true; }
  void OnFlushCompleted(rocks::DB*, const rocks::FlushJobInfo&) override { opens_what_it_needs_ = false; }

 private:
  static thread_local bool opens_what_it_needs_;

  std::mutex mutex_;
  std::vector<int> descriptors_;
};

// The real files, clocks and threads, with files that are opened at the cost of a spare descriptor where the process may have no more open.
std::unique_ptr<rocks::Env> NewSparingEnv(std::shared_ptr<SpareDescriptors> spares);

}  // namespace cairn::store
