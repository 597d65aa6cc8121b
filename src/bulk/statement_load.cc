// SPDX-License-Identifier: GPL-2.0-only
// Rows of a statement: out of the transaction, into files, and back if need be.
#include "bulk/statement_load.h"

#include <algorithm>

#include "base/index_bounds.h"
#include "bulk/interrupt_poll.h"

namespace cairn::bulk {

using store::Family;

namespace {

LoadOptions ByFiles(LoadOptions options) {
  options.by_files = true;
  return options;
}

}  // namespace

StatementLoad::StatementLoad(store::Store& store, std::shared_ptr<const catalog::TableAccess> table, LoadOptions options)
    : store_(store), table_(std::move(table)), interrupted_(options.interrupted), load_(store, table_, ByFiles(options)) {
  for (const codec::IndexCodec& index : table_->indexes()) indexes_.push_back(index.id());
}

// All keys that come here are entries of the table.
size_t StatementLoad::IndexOf(ByteView key) const {
  return static_cast<size_t>(std::ranges::find(indexes_, IndexId(LoadBe32(key.data()))) - indexes_.begin());
}

// Rows that were there once lie in the way of files: these would go to level 0, and looking for rows under the claim would walk over them.
Status StatementLoad::IsUntouched(bool* untouched) const {
  *untouched = true;
  for (const IndexId index : indexes_) {
    const IndexBounds bounds(index);
    bool has;
    CAIRN_RETURN_IF_ERROR(store_.HasVersions(bounds.lower(), bounds.upper(), &has));
    if (has) *untouched = false;
  }
  return Status::Ok();
}

Status StatementLoad::Begin(txn::Transaction* transaction, bool* begun) {
  *begun = false;
  if (!transaction->HasWrittenOnly(indexes_)) return Status::Ok();
  bool untouched;
  CAIRN_RETURN_IF_ERROR(IsUntouched(&untouched));
  if (!untouched) return Status::Ok();
  InterruptPoll poll(interrupted_);  // it may come late, when there are many
  return transaction->TakeBack(
      [&](ByteView key, ByteView value) {
        CAIRN_RETURN_IF_ERROR(poll.Count(key.size() + value.size()));
        return load_.AddEntry(IndexOf(key), key, value);
      },
      begun);
}

Status StatementLoad::Finish(txn::Transaction* transaction, dml::RowWriter* writer) {
  CAIRN_RETURN_IF_ERROR(load_.FinishFiles());
  bool claimed;
  CAIRN_RETURN_IF_ERROR(IsUntouched(&claimed));
  if (claimed) CAIRN_RETURN_IF_ERROR(transaction->ClaimIndexes(indexes_, &claimed));
  std::unique_ptr<store::PendingLoad> pending;
  if (claimed) CAIRN_RETURN_IF_ERROR(store::PendingLoad::Make(store_, &load_.files(), indexes_, &pending));
  if (pending != nullptr) {
    CAIRN_RETURN_IF_ERROR(transaction->AttachLoad(std::move(pending)));
    by_files_ = true;
  } else {
    transaction->ReleaseClaims();
    CAIRN_RETURN_IF_ERROR(InsertAll(transaction, writer));
  }
  // Those that were taken back have been counted when they were inserted first.
  transaction->AddTableCounters(table_->def().id,
                                {.row_count = static_cast<int64_t>(added_count_), .auto_increment_next = 0});
  return Status::Ok();
}

Status StatementLoad::InsertAll(txn::Transaction* transaction, dml::RowWriter* writer) {
  by_rows_ = true;
  store::LoadReader entries(load_.files());
  CAIRN_RETURN_IF_ERROR(entries.SeekToFirst());
  InterruptPoll poll(interrupted_);
  while (entries.Valid()) {
    CAIRN_RETURN_IF_ERROR(poll.Count(entries.key().size() + entries.value().size()));
    const size_t index = IndexOf(entries.key());
    Status status = writer->InsertEncoded(index, entries.key(), entries.value());
    if (status.Is(Status::Code::kDuplicateKey)) {
      CAIRN_RETURN_IF_ERROR(NoteDuplicate(transaction, index, entries.key(), entries.value()));
    }
    CAIRN_RETURN_IF_ERROR(std::move(status));
    CAIRN_RETURN_IF_ERROR(entries.Next());
  }
  return Status::Ok();
}

Status StatementLoad::NoteDuplicate(txn::Transaction* transaction, size_t index, ByteView key, ByteView value) {
  duplicate_ = {.index = index, .key = std::string(key), .value = std::string(value), .primary_key = {}, .row_value = {}};
  if (index == 0) {
    duplicate_.primary_key = key;
    duplicate_.row_value = value;
    return Status::Ok();
  }
  ByteBuffer primary_key;
  CAIRN_RETURN_IF_ERROR(table_->indexes()[index].PrimaryKeyOf(key, value, &primary_key));
  duplicate_.primary_key = primary_key.view();
  store::PinnedValue row;
  CAIRN_RETURN_IF_ERROR(transaction->Get(Family::kData, primary_key.view(), txn::View::kNewest, &row));
  duplicate_.row_value = row.view();
  return Status::Ok();
}

}  // namespace cairn::bulk
