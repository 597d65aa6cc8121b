// SPDX-License-Identifier: GPL-2.0-only
// Threads share the heaps they are allowed.
#include <malloc.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/heap_testing.h"
#include "engine/options.h"

namespace cairn::engine {
namespace {

constexpr int kThreads = 12;

// How many heaps the C library has after as many threads as that allocated at the same time.
int CountHeaps() {
  std::barrier together(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      void* memory = std::malloc(4096);
      together.arrive_and_wait();
      std::free(memory);
    });
  }
  for (std::thread& thread : threads) thread.join();

  char* text = nullptr;
  size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  if (malloc_info(0, stream) != 0) return -1;
  std::fclose(stream);
  constexpr std::string_view kHeap = "<heap nr=";
  int count = 0;
  for (size_t at = 0; (at = std::string_view(text, size).find(kHeap, at)) != std::string_view::npos; ++at) ++count;
  std::free(text);
  return count;
}

[[noreturn]] void ExitWithFewHeaps() {
  LimitHeaps(3);
  const int count = CountHeaps();
  std::_Exit(count >= 1 && count <= 3 ? 0 : 1);
}

// In a process of its own, which has no threads yet and may keep the limit.
TEST(MemoryDeathTest, ThreadsShareTheHeapsTheyAreAllowed) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' allocator";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ExitWithFewHeaps(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cairn::engine
