// SPDX-License-Identifier: GPL-2.0-only
// Files that live no longer than a piece of work.
#include "store/temp_file.h"

#include <atomic>
#include <utility>
#include <vector>

#include <rocksdb/env.h>

#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

std::string FolderOf(const std::string& store_directory) { return store_directory + "/temporary"; }

rocks::EnvOptions PlainFiles() {
  rocks::EnvOptions options;
  options.use_mmap_reads = false;
  options.use_mmap_writes = false;
  options.fallocate_with_keep_size = false;
  return options;
}

}  // namespace

Status NewTemporaryPath(rocks::Env* env, const std::string& store_directory, std::string_view suffix, std::string* path) {
  static std::atomic<uint64_t> numbers{0};
  *path = FolderOf(store_directory) + "/" + std::to_string(++numbers) + std::string(suffix);
  const rocks::Status deleted = env->DeleteFile(*path);
  if (deleted.IsNotFound() || deleted.IsPathNotFound()) return Status::Ok();
  return FromRocks(deleted);
}

Status EmptyTemporaryFolder(rocks::Env* env, const std::string& store_directory) {
  const std::string folder = FolderOf(store_directory);
  CAIRN_RETURN_IF_ERROR(FromRocks(env->CreateDirIfMissing(folder)));
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->GetChildren(folder, &names)));
  Status first;
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    Status deleted = FromRocks(env->DeleteFile(folder + "/" + name));
    if (first.ok()) first = std::move(deleted);
  }
  return first;
}

TempFile::TempFile(Store& store, std::string path) : store_(store), path_(std::move(path)) {}

TempFile::~TempFile() {
  writer_.reset();
  reader_.reset();
  store_.impl_->root->GetEnv()->DeleteFile(path_).PermitUncheckedError();
}

Status TempFile::Create(Store& store, std::unique_ptr<TempFile>* file) {
  rocks::Env* const env = store.impl_->root->GetEnv();
  std::string path;
  CAIRN_RETURN_IF_ERROR(NewTemporaryPath(env, store.directory(), ".run", &path));
  std::unique_ptr<TempFile> created(new TempFile(store, std::move(path)));
  CAIRN_RETURN_IF_ERROR(FromRocks(env->NewWritableFile(created->path_, &created->writer_, PlainFiles())));
  *file = std::move(created);
  return Status::Ok();
}

Status TempFile::Append(ByteView bytes) {
  CAIRN_RETURN_IF_ERROR(store_.impl_->gate->Admit(Urgency::kNormal, bytes.size()));
  CAIRN_RETURN_IF_ERROR(FromRocks(writer_->Append(ToSlice(bytes))));
  size_bytes_ += bytes.size();
  return Status::Ok();
}

Status TempFile::EndWriting() {
  if (writer_ == nullptr) return Status::Ok();
  const rocks::Status closed = writer_->Close();
  writer_.reset();
  return FromRocks(closed);
}

Status TempFile::StartReading() {
  CAIRN_RETURN_IF_ERROR(EndWriting());
  return FromRocks(store_.impl_->root->GetEnv()->NewSequentialFile(path_, &reader_, PlainFiles()));
}

Status TempFile::Read(size_t bytes, char* to, size_t* got) {
  *got = 0;
  while (*got < bytes) {
    rocks::Slice part;
    CAIRN_RETURN_IF_ERROR(FromRocks(reader_->Read(bytes - *got, &part, to + *got)));
    if (part.empty()) break;
    if (part.data() != to + *got) std::memcpy(to + *got, part.data(), part.size());
    *got += part.size();
  }
  return Status::Ok();
}

}  // namespace cairn::store
