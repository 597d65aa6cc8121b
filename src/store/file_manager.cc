// SPDX-License-Identifier: GPL-2.0-only
// Keeps count of a store's files and paces their removal.
#include "store/file_manager.h"

#include "file/sst_file_manager_impl.h"

namespace cairn::store {
namespace {

// Files wait to be removed only while they are no more than this part of all.
constexpr double kTrashRatioMax = 0.25;
// Larger files are cut piece by piece.
constexpr uint64_t kDeleteChunkBytes = uint64_t{64} << 20;

class FileManager final : public rocks::SstFileManagerImpl {
 public:
  using SstFileManagerImpl::SstFileManagerImpl;

  bool IsMaxAllowedSpaceReached() override { return false; }
  bool IsMaxAllowedSpaceReachedIncludingCompactions() override { return false; }
};

}  // namespace

std::shared_ptr<rocks::SstFileManager> MakeFileManager(rocks::Env* env, int64_t delete_bytes_per_second) {
  return std::make_shared<FileManager>(env->GetSystemClock(), env->GetFileSystem(), /*logger=*/nullptr,
                                       delete_bytes_per_second, kTrashRatioMax, kDeleteChunkBytes);
}

uint64_t CompactionsReservedBytes(rocks::SstFileManager& files) {
  return static_cast<FileManager&>(files).GetCompactionsReservedSize();
}

}  // namespace cairn::store
