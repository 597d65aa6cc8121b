// SPDX-License-Identifier: GPL-2.0-only
// For tests: a file system in memory that loses power, runs full and fails on demand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/environment.h"

namespace cairn::store {

// A simulated crash of a store takes three steps:
//   env.Freeze();          // whatever the store still tries to write does not happen
//   store.reset();
//   env.LoseUnsynced();    // or Thaw(): the process died, the machine did not
// then the directory may be opened again.
//
// Files that were never synced remain, empty; names are durable at once, or, if asked for, once their folder is synced. Logs for people
// ("LOG") are not part of the game.
//
// Thread rule: any thread; the three steps by one.
class FaultEnvironment final : public Environment {
 public:
  FaultEnvironment();
  ~FaultEnvironment() override;
  rocks::Env* rocks_env() override;

  void Freeze();
  void Thaw();
  // Cuts every file back to what was synced, and thaws.
  void LoseUnsynced();
  // Of files whose path contains `part` that leaves all there is, as if the system had written them to disk by itself.
  void KeepUnsynced(const std::string& part);
  // Of logs that leaves zeros in place of what was not synced, as where a file's size was written before its data.
  void ZeroUnsyncedLogs();
  // From now on that also undoes creations, links, renames and removals in folders that were not synced since.
  void LoseNames();

  // From the `count`-th from now on, appends to and syncs of files whose path contains `part` fail
  // until Heal(). 1 is the next one.
  void FailWrites(const std::string& part, uint64_t count);
  // The same of creations, links, renames, removals and syncs of folders.
  void FailNames(const std::string& part, uint64_t count);
  void Heal();
  // From now on the file system has no links, and tells of that as FAT does.
  void RefuseLinks();
  // The next writer that appends to a file whose path contains `part` waits, until ReleaseWrites().
  void HoldWrites(const std::string& part);
  // The same of who syncs one, instead.
  void HoldSyncs(const std::string& part);
  void AwaitHeldWrite();
  // The one that waits goes on, and the next one waits.
  void PassHeldWrite();
  void ReleaseWrites();
  // How many writes, and changes of names, have failed.
  uint64_t failed_write_count() const;

  // What the file system says is free; until set, plenty. While it is 0, what fails does so for want of space.
  void SetFreeBytes(uint64_t bytes);

  // Damage while no store is open. `part` names the first file, in order of paths, that contains it;
  // false when there is none or it is shorter.
  bool FlipBit(const std::string& directory, const std::string& part, uint64_t byte);
  bool Truncate(const std::string& directory, const std::string& part, uint64_t bytes_cut_off);
  // Of one file, by its path; but nothing of what was synced.
  void CutUnsynced(const std::string& path, uint64_t bytes_cut_off);
  void WriteFile(const std::string& path, const std::string& text);
  // Paths in a directory that contain `part`, sorted.
  std::vector<std::string> Files(const std::string& directory, const std::string& part);

 private:
  class Faults;
  class File;
  class FoundFile;
  class Folder;
  std::shared_ptr<Faults> faults_;
  std::unique_ptr<rocks::Env> memory_;
  std::unique_ptr<rocks::Env> env_;
};

}  // namespace cairn::store
