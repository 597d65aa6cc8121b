// SPDX-License-Identifier: GPL-2.0-only
// cairn-memtable: the insert rate at one write buffer size, in JSON.
#include <cstdio>

#include "command_line.h"
#include "insert_run.h"
#include "json_writer.h"
#include "program.h"

namespace cairn::bench::memtable {
namespace {

constexpr const char* kUsage =
    "cairn-memtable insert --directory DIR [options]: fills an empty RocksDB with random keys, one thread,\n"
    "without write-ahead log, compaction and compression; prints one JSON object\n"
    "  --keys N                inserts, and the range keys are drawn from (10000000)\n"
    "  --write-buffer-mib N    size of a memtable (32)\n"
    "  --write-buffers N       memtables that may wait for their flush, with the active one (8)\n"
    "  --batch N               keys in one write (8)\n"
    "  --key-bytes N, --value-bytes N   (16, 100)\n"
    "  --memtable NAME         tree (the engine's), skip_list or vector (tree)\n"
    "  --seed N                of the keys (1)\n"
    "  --json FILE             where the JSON object goes (stdout)\n";

struct Options {
  InsertOptions insert;
  uint64_t write_buffer_mib = 32;
  std::string json_path;
  bool help = false;
};

Options Parse(const std::vector<std::string>& arguments) {
  Options options;
  InsertOptions& insert = options.insert;
  const CommandLine line = {
      .values = {{"--directory", StoreText(&insert.directory)},
                 {"--keys", StoreNumber(&insert.keys, 1, 1'000'000'000'000)},
                 {"--write-buffer-mib", StoreNumber(&options.write_buffer_mib, 1, 65536)},
                 {"--write-buffers", StoreNumber(&insert.write_buffers, 2, 1000)},
                 {"--batch", StoreNumber(&insert.batch, 1, 1'000'000)},
                 {"--key-bytes", StoreNumber(&insert.key_bytes, 8, 4096)},
                 {"--value-bytes", StoreNumber(&insert.value_bytes, 1, 1 << 20)},
                 {"--memtable",
                  [&insert](const std::string& o, const std::string& v) {
                    insert.representation = Choose<Representation>(
                        o, v, {{"tree", Representation::kTree},
                             {"skip_list", Representation::kSkipList},
                             {"vector", Representation::kVector}});
                  }},
                 {"--seed", StoreNumber(&insert.seed, 0, UINT64_MAX)},
                 {"--json", StoreText(&options.json_path)}},
      .flags = {},
      .commands = {"insert"}};
  options.help = ParseCommandLine(arguments, line).empty();
  if (!options.help && insert.directory.empty()) throw UsageError("give --directory");
  insert.write_buffer_bytes = options.write_buffer_mib << 20;
  CheckJsonPath(options.json_path);
  return options;
}

std::string ToJson(const Options& options, const InsertResult& result) {
  JsonWriter json;
  json.BeginObject();
  json.Field("rocksdb", RocksdbVersion());
  json.Field("write_buffer_mib", options.write_buffer_mib);
  json.Field("keys", options.insert.keys);
  json.Field("batch", options.insert.batch);
  json.Field("key_bytes", options.insert.key_bytes);
  json.Field("value_bytes", options.insert.value_bytes);
  json.Field("inserted", result.inserted);
  json.Field("seconds", result.seconds);
  json.Field("inserts_per_second", static_cast<double>(result.inserted) / result.seconds);
  json.Field("process_cpu_seconds", result.process_cpu_seconds);
  json.Field("writer_cpu_seconds", result.writer_cpu_seconds);
  json.Field("stall_us", result.stall_us);
  json.Field("flushed_bytes", result.flushed_bytes);
  json.Field("files", result.files);
  json.Field("checked", result.checked);
  json.EndObject();
  return json.text();
}

int Main(const std::vector<std::string>& arguments) {
  Options options;
  try {
    options = Parse(arguments);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "cairn-memtable: %s\nTry --help.\n", error.what());
    return kExitUsage;
  }
  if (options.help) {
    std::fputs(kUsage, stdout);
    return kExitOk;
  }
  try {
    return WriteJson(ToJson(options, RunInserts(options.insert)), options.json_path) ? kExitOk : kExitFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cairn-memtable: %s\n", error.what());
    return kExitFailed;
  }
}

}  // namespace
}  // namespace cairn::bench::memtable

int main(int argc, char** argv) {
  return cairn::bench::memtable::Main(std::vector<std::string>(argv + 1, argv + argc));
}
