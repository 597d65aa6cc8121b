// SPDX-License-Identifier: GPL-2.0-only
// Sorted entries in a temporary file.
#include "bulk/sort_run.h"

#include <algorithm>
#include <string>

#include "base/crc32c.h"
#include "store/entry_limits.h"

namespace cairn::bulk {
namespace {

constexpr size_t kHeaderBytes = 8;
constexpr size_t kLengthsBytesMax = 20;  // of an entry
static_assert(store::kEntryBytesMax + kLengthsBytesMax <= UINT32_MAX);

}  // namespace

Status SortRun::Create(store::Store& store, std::unique_ptr<SortRun>* run) {
  std::unique_ptr<SortRun> created(new SortRun());
  CAIRN_RETURN_IF_ERROR(store::TempFile::Create(store, &created->file_));
  created->block_.Reserve(kBlockBytes);  // no more, as growing step by step would take
  created->block_.Extend(kHeaderBytes);
  *run = std::move(created);
  return Status::Ok();
}

Status SortRun::Append(ByteView key, ByteView value) {
  // Were blocks longer by their last entry, one run less would fit into the memory of a merge.
  if (block_.size() + kLengthsBytesMax + key.size() + value.size() > kBlockBytes) CAIRN_RETURN_IF_ERROR(FlushBlock());
  block_.AppendVarint(key.size());
  block_.AppendVarint(value.size());
  block_.Append(key);
  block_.Append(value);
  return Status::Ok();
}

Status SortRun::FlushBlock() {
  const ByteView payload = block_.view().substr(kHeaderBytes);
  if (payload.empty()) return Status::Ok();
  StoreLe32(block_.data(), static_cast<uint32_t>(payload.size()));
  StoreLe32(block_.data() + 4, Crc32c(payload));
  CAIRN_RETURN_IF_ERROR(file_->Append(block_.view()));
  block_bytes_max_ = std::max(block_bytes_max_, payload.size());
  block_.Truncate(kHeaderBytes);
  return Status::Ok();
}

Status SortRun::FinishWriting() {
  CAIRN_RETURN_IF_ERROR(FlushBlock());
  block_.ShrinkAbove(0);
  return file_->EndWriting();  // a large sort has more runs than a process may have open files
}

Status SortRun::StartReading() {
  CAIRN_RETURN_IF_ERROR(file_->StartReading());
  block_.Reserve(block_bytes_max_);
  return Next();
}

Status SortRun::Corrupt(const char* what) const {
  return Status::Corruption("the temporary file " + file_->path() + " is damaged: " + what);
}

Status SortRun::ReadBlock() {
  char header[kHeaderBytes];
  size_t got;
  CAIRN_RETURN_IF_ERROR(file_->Read(kHeaderBytes, header, &got));
  valid_ = got != 0;
  if (!valid_) return Status::Ok();
  const uint32_t payload_bytes = LoadLe32(header);
  if (got != kHeaderBytes || payload_bytes == 0 || payload_bytes > block_bytes_max_) return Corrupt("its block sizes");
  block_.Clear();
  CAIRN_RETURN_IF_ERROR(file_->Read(payload_bytes, reinterpret_cast<char*>(block_.Extend(payload_bytes)), &got));
  if (got != payload_bytes) return Corrupt("it ends early");
  if (Crc32c(block_.view()) != LoadLe32(header + 4)) return Corrupt("a checksum does not match");
  entries_ = ByteReader(block_.view());
  return Status::Ok();
}

Status SortRun::Next() {
  if (entries_.empty()) {
    CAIRN_RETURN_IF_ERROR(ReadBlock());
    if (!valid_) return Status::Ok();
  }
  uint64_t key_bytes, value_bytes;
  if (!entries_.ReadVarint(&key_bytes) || !entries_.ReadVarint(&value_bytes) || !entries_.ReadBytes(key_bytes, &key_) ||
      !entries_.ReadBytes(value_bytes, &value_)) {
    return Corrupt("an entry");
  }
  valid_ = true;
  return Status::Ok();
}

}  // namespace cairn::bulk
