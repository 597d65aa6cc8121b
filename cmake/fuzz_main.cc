// SPDX-License-Identifier: GPL-2.0-only
// Drives a fuzz target where the compiler has no libFuzzer: stored inputs, then random ones.
//
// usage: <target> [FILE or DIR …] [--seconds=N] [--seed=N]
// A failing random input is reproduced by its seed, which is printed first.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

constexpr size_t kRandomSizeBytesMax = 512;

Input ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), {});
}

void AddInputs(const std::filesystem::path& path, std::vector<Input>* inputs) {
  if (!std::filesystem::is_directory(path)) {
    inputs->push_back(ReadFile(path));
    return;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) inputs->push_back(ReadFile(entry.path()));
  }
}

// Random bytes, or a stored input with some bytes changed and its end cut off.
Input MakeInput(const std::vector<Input>& stored, std::mt19937_64* random) {
  auto below = [random](size_t bound) { return bound == 0 ? 0 : (*random)() % bound; };
  Input input;
  if (!stored.empty() && below(2) == 0) {
    input = stored[below(stored.size())];
    input.resize(below(input.size() + 1));
    for (size_t i = below(4); i > 0 && !input.empty(); i--) {
      input[below(input.size())] = static_cast<uint8_t>((*random)());
    }
    return input;
  }
  input.resize(below(kRandomSizeBytesMax));
  for (uint8_t& byte : input) byte = static_cast<uint8_t>((*random)());
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Input> stored;
  double seconds = 1;
  uint64_t seed = std::random_device()();
  for (int i = 1; i < argc; i++) {
    std::string_view argument = argv[i];
    if (argument.starts_with("--seconds=")) {
      seconds = std::atof(argv[i] + 10);
    } else if (argument.starts_with("--seed=")) {
      seed = std::strtoull(argv[i] + 7, nullptr, 10);
    } else {
      AddInputs(argument, &stored);
    }
  }
  std::printf("seed %llu, %zu stored inputs\n", static_cast<unsigned long long>(seed),
              stored.size());
  std::fflush(stdout);
  for (const Input& input : stored) LLVMFuzzerTestOneInput(input.data(), input.size());

  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; runs++) {
    Input input = MakeInput(stored, &random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%llu random inputs\n", static_cast<unsigned long long>(runs));
  return 0;
}
