// SPDX-License-Identifier: GPL-2.0-only
// For tests: a dictionary in a store in memory that can crash and come back.
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "store/store_testing.h"

namespace cairn::catalog::testing {

// Thread rule: one thread.
class CatalogFixture : public store::StoreFixture {
 public:
  void OpenBoth() {
    Open();
    ASSERT_TRUE(Catalog::Open(store.get(), &catalog).ok());
  }
  // What was not synced is gone.
  void LosePower() {
    catalog.reset();
    Crash();
    OpenBoth();
  }

  std::unique_ptr<Catalog> catalog;  // lives in the store
};

}  // namespace cairn::catalog::testing
