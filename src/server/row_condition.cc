// SPDX-License-Identifier: GPL-2.0-only
// Which conditions serve, and how they are looked at.
#include "server/row_condition.h"

#include <item_cmpfunc.h>
#include <item_func.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "server/killed.h"

namespace cairn::server {

using codec::ColumnLayout;
using codec::ColumnSet;
using codec::ColumnType;

namespace {

// After so many rows it is known whether enough are passed by: at least half.
constexpr uint64_t kSampleRows = 64;
// So often a walk that gives nothing asks whether it is to end.
constexpr uint64_t kRowsPerPoll = 256;

// What values are compared as. Within a group the server compares without a conversion that could
// warn.
enum class Likeness : uint8_t { kNumber, kText, kTime, kOther };

Likeness LikenessOf(const Item& item) {
  switch (item.cmp_type()) {
    case INT_RESULT:
    case REAL_RESULT:
    case DECIMAL_RESULT: return Likeness::kNumber;
    case STRING_RESULT: return Likeness::kText;
    case TIME_RESULT: return Likeness::kTime;
    default: return Likeness::kOther;
  }
}

// Which items serve, and the columns they read.
class Inspection {
 public:
  Inspection(const TABLE& table, const codec::RecordLayout& layout)
      : table_(table), layout_(layout), columns_(layout.columns.size()) {}

  const ColumnSet& columns() const { return columns_; }

  // As a truth value: what is none yet is made a number first, and of a text that warns.
  bool ServesAsTruth(Item* item) { return LikenessOf(*item) == Likeness::kNumber && Serves(item); }

 private:
  bool Serves(Item* item) {
    switch (item->type()) {
      case Item::FIELD_ITEM: return ColumnServes(*static_cast<Item_field*>(item)->field);
      case Item::CONST_ITEM:
      case Item::NULL_ITEM: return ConstantServes(*item);
      case Item::COND_ITEM: return ListServes(static_cast<Item_cond*>(item));
      case Item::FUNC_ITEM: return FunctionServes(static_cast<Item_func*>(item));
      case Item::REF_ITEM:  // a merged view's column is what it stands for
        return static_cast<Item_ref*>(item)->ref_type() == Item_ref::VIEW_REF &&
               Serves(item->real_item());
      default: return false;
    }
  }

  // A time that is no date in some SQL mode is checked, with a warning, each time it is looked at;
  // the server marks it as nullable.
  static bool ConstantServes(const Item& item) {
    if (!item.basic_const_item()) return false;
    return item.type() == Item::NULL_ITEM || LikenessOf(item) != Likeness::kTime || !item.maybe_null();
  }

  // Of fixed bytes, only those of the server's own plain types. Compressed columns are counted when
  // they are decompressed.
  bool ColumnServes(const Field& field) {
    if (field.table != &table_ || field.compression_method() != nullptr) return false;
    const ColumnLayout& column = layout_.columns[field.field_index];
    if (!column.stored) return false;
    const bool is_plain = field.cmp_type() == DECIMAL_RESULT || field.cmp_type() == TIME_RESULT;
    if (column.type == ColumnType::kFixedBytes && !is_plain) return false;
    columns_.Add(field.field_index);
    return true;
  }

  bool ListServes(Item_cond* list) {
    if (list->functype() != Item_func::COND_AND_FUNC && list->functype() != Item_func::COND_OR_FUNC) return false;
    List_iterator<Item> each(*list->argument_list());
    while (Item* const item = each++) {
      if (!ServesAsTruth(item)) return false;
    }
    return true;
  }

  bool FunctionServes(Item_func* function) {
    Item** const begin = function->arguments();
    Item** const end = begin + function->argument_count();
    switch (function->functype()) {
      case Item_func::EQ_FUNC:
      case Item_func::EQUAL_FUNC:
      case Item_func::NE_FUNC:
      case Item_func::LT_FUNC:
      case Item_func::LE_FUNC:
      case Item_func::GE_FUNC:
      case Item_func::GT_FUNC:
      case Item_func::BETWEEN:
      case Item_func::IN_FUNC:
        if (!AreAlike(begin, end)) return false;
        break;
      case Item_func::NOT_FUNC: return ServesAsTruth(*begin);
      case Item_func::LIKE_FUNC:
      case Item_func::ISNULL_FUNC:
      case Item_func::ISNOTNULL_FUNC: break;
      default:
        if (!IsLength(*function)) return false;
        break;
    }
    return std::all_of(begin, end, [this](Item* argument) { return Serves(argument); });
  }

  // A text is alike a literal of text only, not one of a type that reads texts (INET6, UUID); a
  // time alike one of the same kind.
  static bool AreAlike(Item** begin, Item** end) {
    const auto is_null = [](const Item* item) { return item->type() == Item::NULL_ITEM; };
    Item** const first = std::find_if_not(begin, end, is_null);
    if (first == end) return false;
    const Likeness likeness = LikenessOf(**first);
    const enum_mysql_timestamp_type kind = (*first)->type_handler()->mysql_timestamp_type();
    return likeness != Likeness::kOther && std::all_of(begin, end, [&](Item* item) {
             if (is_null(item)) return true;
             if (LikenessOf(*item) != likeness) return false;
             if (likeness == Likeness::kTime) {
               return item->type_handler()->mysql_timestamp_type() == kind;
             }
             const bool is_literal = item->real_item()->type() == Item::CONST_ITEM;
             return likeness != Likeness::kText || !is_literal ||
                    item->field_type() == MYSQL_TYPE_VARCHAR;
           });
  }

  static bool IsLength(const Item_func& function) {
    const LEX_CSTRING name = function.func_name_cstring();
    const std::string_view text(name.str, name.length);
    return text == "octet_length" || text == "char_length";
  }

  const TABLE& table_;
  const codec::RecordLayout& layout_;
  ColumnSet columns_;
};

// What AND joins, or the condition itself.
std::vector<Item*> PartsOf(Item* condition) {
  if (condition->type() != Item::COND_ITEM) return {condition};
  auto* const list = static_cast<Item_cond*>(condition);
  if (list->functype() != Item_func::COND_AND_FUNC) return {condition};
  std::vector<Item*> parts;
  List_iterator<Item> each(*list->argument_list());
  while (Item* const item = each++) parts.push_back(item);
  return parts;
}

}  // namespace

std::optional<RowCondition> RowCondition::Make(Item* condition, TABLE* table,
                                               std::shared_ptr<const catalog::TableAccess> access) {
  ColumnSet columns(access->layout().columns.size());
  const std::vector<Item*> parts = PartsOf(condition);
  std::vector<Item*> serving;
  for (Item* const part : parts) {
    Inspection inspection(*table, access->layout());
    // The server looks at them one after the other. What this one does it must do for each row that
    // comes to it.
    if (!inspection.ServesAsTruth(part)) break;
    serving.push_back(part);
    columns.AddAll(inspection.columns());
  }
  // A condition without columns is the same for all rows.
  if (columns.empty()) return std::nullopt;
  const bool is_whole = serving.size() == parts.size();
  return RowCondition(std::move(serving), is_whole, table, std::move(access), columns);
}

// The server looks at what comes behind a part that is NULL, though the row is lost.
bool RowCondition::MayHold() const {
  for (Item* const part : parts_) {
    if (!part->val_bool() && (is_whole_ || !part->null_value)) return false;
  }
  return true;
}

// A row that cannot be decoded is given: reading it reports the damage. So is one that cannot be looked at, as there is no
// room left on the stack (LIKE): the server ends the statement with it.
scan::EntryFilter::Verdict RowCondition::Check(ByteView key, ByteView value) {
  if (is_idle_) return Verdict::kTake;
  if (++looked_at_ % kRowsPerPoll == 0 && IsKilled(table_->in_use)) return Verdict::kInterrupted;
  if (access_->rows().Decode(plan_, key, value, table_->record[0]).ok() && !MayHold() && !table_->in_use->is_error()) {
    ++passed_by_;
    ++to_be_counted_;
    return Verdict::kSkip;
  }
  is_idle_ = looked_at_ >= kSampleRows && 2 * passed_by_ < looked_at_;
  return Verdict::kTake;
}

}  // namespace cairn::server
