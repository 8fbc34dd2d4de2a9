// tests/tools/cli/output_test.cpp - JSON lines, tables, figures and the progress meter as text.
#include "tools/cli/output.h"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tools/cli/progress.h"

namespace unweave {
namespace {

TEST_SUITE("unit") {
  TEST_CASE("JSON stays on one line, in the order given, without NaN") {
    std::ostringstream out;
    write_json_line(out, {{"b", 1},
                          {"a", "x\ny"},
                          {"nan", std::numeric_limits<double>::quiet_NaN()},
                          {"inf", std::numeric_limits<double>::infinity()},
                          {"bytes", "\xff"}});
    CHECK(out.str() == "{\"b\":1,\"a\":\"x\\ny\",\"nan\":null,\"inf\":null,\"bytes\":\"\xEF\xBF\xBD\"}\n");
  }

  TEST_CASE("one of a kind is no more of them") {
    CHECK(counted(0, "request") == "0 requests");
    CHECK(counted(1, "request") == "1 request");
    CHECK(counted(1234, "node") == "1,234 nodes");
  }

  TEST_CASE("tables align the first column left and the others right") {
    Table table({"name", "count"});
    table.add_row({"nodes", "7"});
    table.add_row({"x", "1,234"});
    table.add_row({"alone"});
    std::ostringstream out;
    table.print(out);
    CHECK(out.str() ==
          "name   count\n"
          "nodes      7\n"
          "x      1,234\n"
          "alone\n");
  }

  TEST_CASE("figures are an object for programs and a table for people") {
    Figures figures{{{"bench", "x"}}, Table({"x", ""})};
    figures.count("nodes", "nodes kept", 1234);
    figures.bytes("input_bytes", "input", 1536);
    figures.json["plans"] = std::vector<std::string>{"push"};
    figures.table.add_row({"plan", "push"});
    figures.seconds("seconds", "time", 0.5);
    figures.number("ratio", "ratio", std::numeric_limits<double>::infinity());
    figures.add("target", "vectors", "AVX2", "AVX2");
    std::ostringstream json, table;
    figures.print(json, true);
    figures.print(table, false);
    CHECK(json.str() ==
          "{\"bench\":\"x\",\"nodes\":1234,\"input_bytes\":1536,\"plans\":[\"push\"],\"seconds\":0.5,"
          "\"ratio\":null,\"target\":\"AVX2\"}\n");
    CHECK(table.str() ==
          "x\n"
          "nodes kept    1,234\n"
          "input       1.5 KiB\n"
          "plan           push\n"
          "time         500 ms\n"
          "ratio          none\n"
          "vectors        AVX2\n");
  }

  TEST_CASE("figures for people") {
    CHECK(count_text(0) == "0");
    CHECK(count_text(999) == "999");
    CHECK(count_text(1000) == "1,000");
    CHECK(count_text(18446744073709551615ULL) == "18,446,744,073,709,551,615");
    CHECK(bytes_text(1023) == "1023 bytes");
    CHECK(bytes_text(1536) == "1.5 KiB");
    CHECK(bytes_text(std::uint64_t{57} << 30) == "57.0 GiB");
    CHECK(seconds_text(0.0123) == "12.3 ms");
    CHECK(seconds_text(3.44) == "3.4 s");
    CHECK(seconds_text(125) == "2 min 5 s");
    CHECK(seconds_text(7260) == "2 h 1 min");
    CHECK(seconds_text(std::numeric_limits<double>::infinity()) == "unknown");
    CHECK(number_text(0.000123456) == "0.0001235");
    CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "none");
  }

  TEST_CASE("progress tells share, rate and time left where they are known") {
    CHECK(progress_text("sweep", 0, 100, "arcs", 0) == "sweep  0/100 arcs  0 %");
    CHECK(progress_text("sweep", 2'500'000, 10'000'000, "arcs", 2) ==
          "sweep  2.5M/10M arcs  25 %  1.25M arcs/s  6.0 s left");
    CHECK(progress_text("sweep", 10, 10, "arcs", 1) == "sweep  10/10 arcs  100 %  10 arcs/s");
    CHECK(progress_text("read", 5000, 0, "bytes", 5) == "read  5K bytes  1K bytes/s");
  }

  TEST_CASE("the meter draws seldom, only when shown, and leaves a clean line") {
    std::ostringstream out;
    {
      Progress hidden(out, false, "x", 10, "rows");
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
      hidden.advance(10);
    }
    CHECK(out.str().empty());
    const auto usual = Progress::between_drawings;
    {
      Progress::between_drawings = std::chrono::hours(1);  // whatever the machine does, no drawing is due
      Progress early(out, true, "x", 10, "rows");
      early.advance(10);
      Progress::between_drawings = usual;
    }
    CHECK(out.str().empty());
    {
      Progress meter(out, true, "x", 3'000'000, "rows");
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
      std::vector<std::jthread> threads;
      threads.reserve(3);
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&meter] {
          for (int k = 0; k < 1000; ++k) meter.advance(1);
        });
      }
    }
    const std::string text = out.str();
    CHECK(text.find("rows") != std::string::npos);
    CHECK(text.ends_with("\r\033[K"));
  }
}

}  // namespace
}  // namespace unweave
