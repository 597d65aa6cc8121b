// SPDX-License-Identifier: GPL-2.0-only
// What filling a set of columns from rows takes, worked out once for a statement.
#include "codec/collation.h"
#include "codec/earlier_versions.h"
#include "codec/row_codec.h"

namespace cairn::codec {

void RowCodec::PlanFixed(DecodePlan* plan) const {
  for (size_t index = 0; index < fixed_.size(); ++index) {
    if (plan->wants_slot_[index] == 0) continue;
    const ColumnLayout& column = fixed_[index].column;
    plan->visited_fixed_ = static_cast<unsigned>(index + 1);
    plan->dense_bytes_ = fixed_[index].dense_offset + column.pack_length;
    if (!plan->runs_.empty()) {
      DecodePlan::Run& last = plan->runs_.back();
      if (last.row_offset + last.bytes == fixed_[index].dense_offset &&
          last.record_offset + last.bytes == column.offset) {
        last.bytes += column.pack_length;
        continue;
      }
    }
    plan->runs_.push_back({fixed_[index].dense_offset, column.offset, column.pack_length});
  }
}

// Precondition: the wanted and visited parts are known.
void RowCodec::PlanKey(DecodePlan* plan) const {
  uint32_t at = sizeof(uint32_t);  // behind the index's number
  for (unsigned part = 0; part < plan->visited_key_parts_; ++part) {
    const KeyPartCodec& codec = key_parts_[part];
    if (codec.fixed_bytes() == 0) return;
    if ((plan->wanted_key_parts_ >> part & 1) != 0) {
      if (!codec.is_plain_integer()) return;
      const ColumnLayout& column = codec.column();
      plan->key_integers_.push_back({at, column.offset, column.pack_length, !column.is_unsigned});
    }
    at += codec.fixed_bytes();
  }
  plan->integer_key_bytes_ = at;
}

// Of a wanted column of variable size.
DecodePlan::Variable::Form RowCodec::FormOf(const ColumnLayout& column) {
  using Form = DecodePlan::Variable::Form;
  if (column.type == ColumnType::kVarchar) return column.length_bytes == 1 ? Form::kVarchar1 : Form::kVarchar2;
  if (column.type != ColumnType::kChar) return Form::kOther;
  const auto& shape = column.collation->shape();
  return shape.char_bytes_min == 1 && shape.space_text[0] == ' ' ? Form::kSpacedChar : Form::kOther;
}

DecodePlan RowCodec::Plan(const ColumnSet& wanted) const {
  using Form = DecodePlan::Variable::Form;
  DecodePlan plan;
  for (unsigned part = 0; part < key_parts_.size(); ++part) {
    const GiveBack give_back = key_parts_[part].give_back();
    if (give_back != GiveBack::kAlways && give_back != GiveBack::kMostly) continue;
    if (!wanted.Has(key_columns_[part])) continue;
    plan.wanted_key_parts_ |= uint64_t{1} << part;
    plan.visited_key_parts_ = part + 1;
  }
  PlanKey(&plan);
  plan.slow_mask_.assign(bitmap_bytes_, 0);
  plan.wants_slot_.assign(fixed_.size(), 0);
  const auto add_null_bit = [&](const ColumnLayout& column) {
    if (!column.nullable) return;
    for (DecodePlan::NullByte& byte : plan.null_bytes_) {
      if (byte.record_offset != column.null_offset) continue;
      byte.mask |= column.null_mask;
      return;
    }
    plan.null_bytes_.push_back({column.null_offset, column.null_mask});
  };
  const auto watch = [&](const Slot& slot) {
    if (slot.absence_bit != kNoBit) plan.slow_mask_[slot.absence_bit / 8] |= uint8_t(1 << (slot.absence_bit % 8));
  };
  for (size_t index = 0; index < fixed_.size(); ++index) {
    if (!wanted.Has(fixed_[index].position)) continue;
    plan.wants_slot_[index] = 1;
    add_null_bit(fixed_[index].column);
  }
  PlanFixed(&plan);
  for (size_t index = 0; index < plan.visited_fixed_; ++index) watch(fixed_[index]);
  for (const Slot& slot : variable_) {
    const ColumnLayout& column = slot.column;
    const uint32_t bytes_max = column.type == ColumnType::kChar ? column.pack_length : column.data_bytes_max;
    const auto index = static_cast<uint16_t>(plan.variables_.size());
    plan.variables_.push_back({column.offset, bytes_max, slot.absence_bit, index, Form::kUnwanted});
    if (!wanted.Has(slot.position)) continue;
    plan.variables_.back().form = FormOf(column);
    add_null_bit(column);
  }
  while (!plan.variables_.empty() && plan.variables_.back().form == Form::kUnwanted) plan.variables_.pop_back();
  if (earlier_ != nullptr) plan.earlier_ = std::make_shared<EarlierPlans>(wanted, earlier_->made.count());
  return plan;
}

}  // namespace cairn::codec
