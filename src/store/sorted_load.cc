// SPDX-License-Identifier: GPL-2.0-only
// Sorted entries as whole files.
#include "store/sorted_load.h"

#include <rocksdb/env.h>
#include <rocksdb/sst_file_writer.h>

#include "store/rocks_status.h"
#include "store/store_impl.h"
#include "store/temp_file.h"

namespace cairn::store {

class SortedLoad::Writer {
 public:
  Writer(rocks::DB* db, rocks::ColumnFamilyHandle* family)
      : options(db->GetDBOptions(), db->GetOptions(family)),
        file(rocks::EnvOptions(options), options, family, /*invalidate_page_cache=*/false) {}

  rocks::Options options;
  rocks::SstFileWriter file;
};

SortedLoad::SortedLoad(Store& store, Family family) : store_(store), family_(family) {}

SortedLoad::~SortedLoad() {
  writer_.reset();
  rocks::Env* env = store_.impl_->root->GetEnv();
  for (const std::string& path : paths_) env->DeleteFile(path).PermitUncheckedError();
}

Status SortedLoad::OpenFile() {
  if (store_.write_gate() != WriteGate::kOpen) CAIRN_RETURN_IF_ERROR(store_.WriteGateStatus());
  writer_ = std::make_unique<Writer>(store_.impl_->root, store_.Handle(family_));
  file_bytes_max_ = writer_->options.target_file_size_base;
  paths_.push_back(NewTemporaryPath(store_, ".sst"));
  return FromRocks(writer_->file.Open(paths_.back()));
}

Status SortedLoad::FinishFile() {
  const rocks::Status status = writer_->file.Finish();
  writer_.reset();
  return FromRocks(status);
}

Status SortedLoad::Add(ByteView key, ByteView value) {
  if (writer_ == nullptr) CAIRN_RETURN_IF_ERROR(OpenFile());
  CAIRN_RETURN_IF_ERROR(FromRocks(writer_->file.Put(ToSlice(key), ToSlice(value))));
  return writer_->file.FileSize() < file_bytes_max_ ? Status::Ok() : FinishFile();
}

Status SortedLoad::Ingest() {
  if (writer_ != nullptr) CAIRN_RETURN_IF_ERROR(FinishFile());
  if (paths_.empty()) return Status::Ok();
  if (store_.write_gate() != WriteGate::kOpen) CAIRN_RETURN_IF_ERROR(store_.WriteGateStatus());
  rocks::IngestExternalFileOptions options;
  options.move_files = true;
  // No reader of an older snapshot knows these keys, and sequence number 0 needs no flush.
  options.snapshot_consistency = false;
  CAIRN_RETURN_IF_ERROR(FromRocks(
      store_.impl_->root->IngestExternalFile(store_.Handle(family_), paths_, options)));
  paths_.clear();
  return Status::Ok();
}

}  // namespace cairn::store
