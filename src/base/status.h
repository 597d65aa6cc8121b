// SPDX-License-Identifier: GPL-2.0-only
// The one error type of the engine: a code and, for the unexpected, a message.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cairn {

// The outcome of an operation. Cheap to pass: a success or an expected outcome without a
// message (a missing key, a lock wait that timed out) allocates nothing.
//
// Three kinds of bad, three answers: what a user may expect is one of the first codes below;
// damaged data and failing devices are kCorruption and kIoError, with the evidence in the
// message; a bug of ours is an assert and never a Status.
//
// Thread rule: as for a value type; distinct objects are independent.
class [[nodiscard]] Status {
 public:
  enum class Code : uint8_t {
    kOk = 0,
    // Expected outcomes.
    kNotFound,         // no such key, row, table
    kDuplicateKey,     // a unique index already has this key
    kLockTimeout,      // waited for a row lock for as long as allowed
    kDeadlock,         // this transaction was chosen as the victim
    kLockBusy,         // NOWAIT or SKIP LOCKED met a lock, or NOWAIT a long commit
    kInterrupted,      // the statement was killed while it waited or scanned
    kAlreadyExists,    // a table, name or prepared transaction exists already
    kInvalidArgument,  // a wrong option value or an impossible request
    kNotSupported,     // refused by name; the message says which feature
    kSnapshotConflict, // strict isolation: the row changed after the snapshot
    kNoSpace,          // the disk is full or below its reserve, or the process can open no more files
    kReadOnly,         // the engine stopped accepting writes; the message says why
    kNoReferencedRow,  // a foreign key: the parent has no such row
    kRowIsReferenced,  // a foreign key: a child has rows that need this one
    kForeignDuplicate, // a foreign key: what the child's row would become is there already
    kCascadeTooDeep,   // foreign keys lead through more tables than allowed
    kTooLarge,         // a row, or a transaction, larger than can be stored
    // Damage and failing devices.
    kCorruption,       // bytes that no version of the format allows
    kFormatTooNew,     // written by a newer version
    kIoError,          // the operating system refused
    kBusy,             // another process uses the directory
  };

  Status() = default;
  // What leads to a message is put apart from code that runs often, by the compiler, as all that makes one is cold.
  [[gnu::cold]] Status(Code code, std::string message);

  static Status Ok() { return Status(); }
  static Status Of(Code code) {
    Status status;
    status.code_ = code;
    return status;
  }
  static Status NotFound() { return Of(Code::kNotFound); }
  static Status DuplicateKey() { return Of(Code::kDuplicateKey); }
  [[gnu::cold]] static Status NotFound(std::string message);
  [[gnu::cold]] static Status DuplicateKey(std::string message);
  [[gnu::cold]] static Status InvalidArgument(std::string message);
  [[gnu::cold]] static Status NotSupported(std::string message);
  [[gnu::cold]] static Status Corruption(std::string message);
  [[gnu::cold]] static Status IoError(std::string message);

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  bool Is(Code code) const { return code_ == code; }

  // The message without the code's name; empty for expected outcomes.
  std::string_view message() const { return message_ ? std::string_view(*message_) : std::string_view(); }

  // "<code name>: <message>", for logs.
  std::string ToString() const;

 private:
  struct DropMessage {
    [[gnu::cold]] void operator()(const std::string* message) const;
  };

  Code code_ = Code::kOk;
  std::unique_ptr<const std::string, DropMessage> message_;
};

// The name of a code as logs and tests print it, e.g. "not found".
std::string_view CodeName(Status::Code code);

}  // namespace cairn

// Returns from the enclosing function when `expression` is not ok.
#define CAIRN_RETURN_IF_ERROR(expression)                              \
  do {                                                                 \
    if (::cairn::Status cairn_status_ = (expression); !cairn_status_.ok()) \
      [[unlikely]] return cairn_status_;                                 \
  } while (false)
