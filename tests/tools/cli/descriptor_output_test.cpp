// tests/tools/cli/descriptor_output_test.cpp - results for a pipe that is full, and whose writes do
// not wait.
#include "tools/cli/descriptor_output.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <ostream>
#include <string>
#include <thread>

namespace unweave {
namespace {

TEST_SUITE("unit") {
  TEST_CASE("a full pipe whose writes do not wait loses nothing") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    REQUIRE(::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    std::string expected;
    for (int i = 0; i < 100'000; ++i) expected += std::to_string(i) + "\n";
    std::string read;
    std::thread reader([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the pipe is full by then
      std::array<char, 4096> some{};
      for (ssize_t bytes = 1; bytes > 0;) {
        bytes = ::read(ends[0], some.data(), some.size());
        if (bytes > 0) read.append(some.data(), static_cast<std::size_t>(bytes));
      }
    });
    {
      DescriptorOutput bytes(ends[1]);
      std::ostream out(&bytes);
      for (int i = 0; i < 100'000; ++i) out << i << '\n';
      CHECK(out.flush());
    }
    ::close(ends[1]);
    reader.join();
    ::close(ends[0]);
    CHECK(read == expected);
  }

  TEST_CASE("a descriptor that takes nothing is an error of the stream") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    ::close(ends[0]);
    DescriptorOutput bytes(ends[1]);
    std::ostream out(&bytes);
    out << "text";
    CHECK_FALSE(out.flush());
    ::close(ends[1]);
    std::signal(SIGPIPE, before);
  }
}

}  // namespace
}  // namespace unweave
