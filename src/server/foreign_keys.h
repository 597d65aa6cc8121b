// SPDX-License-Identifier: GPL-2.0-only
// Foreign keys of the server's statements: from clauses to definitions, and back to text.
#pragma once

#include "server/server_headers.h"

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "catalog/foreign_key_set.h"
#include "catalog/table_def.h"
#include "codec/collation.h"

namespace cairn::server {

// The collation of a number in the dictionary; null when the server has none.
const codec::Collation* CollationOfId(uint32_t id);

// Whether the connection wants foreign keys to be checked.
bool ChecksForeignKeys(THD* thd);

// Whether the statement, which is about to lock its tables, only adds rows: then it leads to no children. A function's or trigger's asks for itself
// (start_stmt), and rows of a replica are no INSERT while their tables are locked.
bool OnlyInserts(THD* thd);

// "database/table" of names as SQL has them, and back.
std::string TableNameOf(const char* database, const char* table);
struct SqlName {
  std::string database;
  std::string table;
};
SqlName SqlNameOf(const std::string& name);

// The table that ALTER TABLE (or what is done by it) works on; empty when the statement is none of these.
std::string AlteredTable(THD* thd);

// "CONSTRAINT `c` FOREIGN KEY (`a`) REFERENCES `p` (`b`) ON DELETE CASCADE".
std::string TextOf(THD* thd, const catalog::ForeignKeyDef& key);
// The same after the name of the child: what errors say of it.
std::string TextInErrors(THD* thd, const catalog::ForeignKeyDef& key);

// Those of the table that ALTER TABLE does not drop. `alter` null: all.
std::vector<catalog::ForeignKeyPtr> KeptKeys(const catalog::ForeignKeySet& keys, const std::string& table,
                                             Alter_info* alter);

// The foreign keys that a table is created with: those of the statement's clauses, and for a copy made by ALTER TABLE
// those of its `original` (else empty) that are not dropped. All are found to fit their tables, and so are those that
// refer to the table already. Otherwise the server's error for it, after a warning that says why. Uses form.tmp_set.
int ForeignKeysOfNewTable(THD* thd, TABLE& form, const HA_CREATE_INFO& create_info, const catalog::TableDef& def,
                          std::vector<catalog::ForeignKeyDef>* keys, std::string* original);

// Warns that one of these keys' names cannot be had.
void WarnOfTakenName(THD* thd, const std::string& table, const std::vector<catalog::ForeignKeyDef>& keys,
                     const std::string& name);

// Whether a table can be renamed: where foreign keys wait for the new name, it must fit them, and be of a kind that can be a parent. Its definition file
// must still have the old name. The server's error if not.
int CheckRename(const std::string& from, const std::string& to, const std::string& original);

// Whether foreign keys allow an index or column to go that ALTER TABLE drops; raises the error if not.
bool KeysOfAlteredStay(const catalog::TableDef& def, const TABLE& altered, const Alter_inplace_info& changes);

// The definitions of all tables that a change of rows of one table may lead to. Their names are kept from statement to statement, for as long as
// the foreign keys are the same: finding and decoding them costs more than locks that the transaction has already.
//
// Thread rule: one thread.
class AffectedDefinitions {
 public:
  // Locks them until the transaction ends. `keys`: the catalog's now; `table`: the same each time. The server has raised an error, too:
  // kDeadlock, kLockTimeout, kInterrupted.
  Status Lock(THD* thd, const std::shared_ptr<const catalog::ForeignKeySet>& keys, const std::string& table);

 private:
  void Find(const catalog::ForeignKeySet& keys, const std::string& table);

  std::shared_ptr<const catalog::ForeignKeySet> keys_;  // what the names were found by; held, so that no other set gets its address
  bool only_inserts_ = false;                           // likewise
  std::vector<SqlName> read_;
  std::vector<SqlName> written_;
};

// Whether anybody but the table itself refers to it; when its database is dropped, from outside.
bool IsReferenced(THD* thd, const std::string& table);

}  // namespace cairn::server
