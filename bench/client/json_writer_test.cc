// SPDX-License-Identifier: GPL-2.0-only
// The JSON text of nested values.
#include "json_writer.h"

#include <gtest/gtest.h>

namespace cairn::bench {
namespace {

TEST(JsonWriter, NestsAndIndents) {
  JsonWriter json;
  json.BeginObject();
  json.Field("a", 1);
  json.Key("b");
  json.BeginArray();
  json.Value("x");
  json.BeginObject();
  json.EndObject();
  json.EndArray();
  json.Field("c", true);
  json.EndObject();
  EXPECT_EQ(json.text(), "{\n  \"a\": 1,\n  \"b\": [\n    \"x\",\n    {}\n  ],\n  \"c\": true\n}");
}

TEST(JsonWriter, EscapesWhatJsonMust) {
  JsonWriter json;
  json.Value(std::string_view("q\"b\\n\n\xe9"));
  EXPECT_EQ(json.text(), "\"q\\\"b\\\\n\\u000a\\u00e9\"");
}

TEST(JsonWriter, WritesNumbersThatJsonHas) {
  JsonWriter json;
  json.BeginArray();
  json.Value(0.5);
  json.Value(1.0 / 0.0);
  json.Value(uint64_t{18446744073709551615u});
  json.EndArray();
  EXPECT_EQ(json.text(), "[\n  0.5,\n  null,\n  18446744073709551615\n]");
}

}  // namespace
}  // namespace cairn::bench
