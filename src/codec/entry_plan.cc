// SPDX-License-Identifier: GPL-2.0-only
// What filling a set of columns from index entries takes, worked out once for a statement, and the entries that go by that.
#include <cassert>

#include "codec/entry_form.h"
#include "codec/index_codec.h"
#include "codec/number_form.h"
#include "codec/record_access.h"

namespace cairn::codec {

EntryPlan IndexCodec::Plan(const ColumnSet& wanted) const {
  assert(!is_primary_);
  EntryPlan plan(column_count_);
  for (size_t column = 0; column < column_count_; ++column) {
    if (wanted.Has(column)) plan.missing_.Add(column);
  }
  for (unsigned part = 0; part < parts_.size(); ++part) {
    const uint16_t column = declared_[part].column;
    const GiveBack give_back = parts_[part].give_back();
    if (give_back == GiveBack::kPrefix || !plan.missing_.Has(column)) continue;
    plan.missing_.Remove(column);
    plan.wanted_parts_ |= uint64_t{1} << part;
    plan.visited_part_count_ = part + 1;
    plan.reads_originals_ |= give_back != GiveBack::kAlways;
  }
  PlanSteps(&plan);
  return plan;
}

// For entries that have all visited parts in their keys. None where an original is always needed.
void IndexCodec::PlanSteps(EntryPlan* plan) const {
  using Form = EntryPlan::Step::Form;
  if (unique_ && plan->visited_part_count_ > own_part_count_) return;
  uint32_t passed = 0;
  const auto pass = [&] {
    if (passed != 0) plan->AddStep({.form = Form::kPass, .is_signed = false, .bytes = static_cast<uint16_t>(passed), .at = 0});
    passed = 0;
  };
  for (unsigned part = 0; part < plan->visited_part_count_; ++part) {
    const KeyPartCodec& codec = parts_[part];
    const bool wanted = plan->Wants(part);
    if (wanted && codec.give_back() == GiveBack::kNever) {
      plan->step_count_ = 0;
      return;
    }
    if (!wanted && codec.fixed_bytes() != 0 && passed + codec.fixed_bytes() <= UINT16_MAX) {
      passed += codec.fixed_bytes();
      continue;
    }
    pass();
    if (wanted && codec.is_plain_integer()) {
      const ColumnLayout& column = codec.column();
      plan->AddStep({.form = Form::kInteger,
                     .is_signed = !column.is_unsigned,
                     .bytes = static_cast<uint16_t>(column.pack_length),
                     .at = column.offset});
    } else {
      plan->AddStep({.form = Form::kPart, .is_signed = false, .bytes = 0, .at = part});
    }
  }
}

Status IndexCodec::DecodeColumns(const EntryPlan& plan, ByteView key, ByteView value, uint8_t* record) const {
  const bool has_plain_value = value.empty() || static_cast<uint8_t>(value[0]) == static_cast<uint8_t>(ValueFormat::kPlain);
  const bool has_no_originals = value.empty() || !plan.reads_originals_;
  if (plan.has_steps() && has_plain_value && has_no_originals && DecodeBySteps(plan, key, record)) return Status::Ok();
  return DecodeByParts(plan, key, value, record);  // which tells what is wrong
}

bool IndexCodec::DecodeBySteps(const EntryPlan& plan, ByteView key, uint8_t* record) const {
  using Form = EntryPlan::Step::Form;
  if (key.size() < kIndexIdBytes || LoadBe32(key.data()) != id_.value) return false;
  const char* at = key.data() + kIndexIdBytes;
  const char* const end = key.data() + key.size();
  for (unsigned i = 0; i < plan.step_count_; ++i) {
    const EntryPlan::Step& step = plan.steps_[i];
    const size_t left = static_cast<size_t>(end - at);
    if (step.form != Form::kPart) {
      if (left < step.bytes) return false;
      if (step.form == Form::kInteger) {
        IntegerFromKey(reinterpret_cast<const uint8_t*>(at), step.bytes, step.is_signed, record + step.at);
      }
      at += step.bytes;
      continue;
    }
    const KeyPartCodec& part = parts_[step.at];
    const ByteView rest(at, left);
    size_t bytes;
    if (!plan.Wants(step.at)) {
      bytes = part.EncodedBytes(rest);
    } else if (left != 0 && part.EncodedIsNull(rest)) {
      StoreNull(part.column(), default_record_.view(), record);
      bytes = 1;
    } else {
      SetNullBit(part.column(), false, record);
      bytes = part.DecodeAtStart(rest, record);
    }
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

}  // namespace cairn::codec
