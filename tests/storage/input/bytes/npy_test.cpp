// tests/storage/input/bytes/npy_test.cpp - element types, headers good and hostile, arrays cut
// short, headers written.
#include "storage/input/bytes/npy.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "storage/io/error.h"
#include "storage/npy/npy_header.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

template <class To>
std::vector<To> read_array(const std::filesystem::path& path) {
  NpyReader reader(InputFile{path, ""});
  std::vector<To> all(static_cast<std::size_t>(reader.header().elements));
  std::size_t done = 0;
  while (done < all.size())
    done += reader.read(std::span(all).subspan(done, std::min<std::size_t>(7, all.size() - done)));
  CHECK(reader.remaining() == 0);
  return all;
}

template <class T>
void check_type(const std::string& descr, bool integer) {
  const TempDir dir;
  CAPTURE(descr);
  std::vector<T> values;
  for (int i = 0; i < 20; ++i) values.push_back(static_cast<T>(i * 5));
  if (std::numeric_limits<T>::is_signed) values.push_back(static_cast<T>(-7));
  const auto path = write_file(dir / "a.npy", npy(descr, "(" + std::to_string(values.size()) + ",)", values));
  CHECK(read_array<double>(path) == std::vector<double>(values.begin(), values.end()));
  if (integer) CHECK(read_array<std::int64_t>(path) == std::vector<std::int64_t>(values.begin(), values.end()));
}

std::string with_header(const std::string& text) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(text.size() & 255);
  bytes += static_cast<char>(text.size() >> 8);
  return bytes + text;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("all element types are read as they are") {
    check_type<std::uint8_t>("|u1", true);
    check_type<std::int8_t>("|i1", true);
    check_type<std::int16_t>("<i2", true);
    check_type<std::int32_t>("<i4", true);
    check_type<std::int64_t>("<i8", true);
    check_type<std::uint16_t>("<u2", true);
    check_type<std::uint32_t>("<u4", true);
    check_type<std::uint64_t>("<u8", true);
    check_type<float>("<f4", false);
    check_type<double>("<f8", false);
    const TempDir dir;
    const auto half =
        write_file(dir / "h.npy", npy<std::uint16_t>("<f2", "(6,)", {0x3C00, 0xC000, 0x0001, 0x7BFF, 0x3555, 0x7C00}));
    CHECK(read_array<double>(half) == std::vector<double>{1, -2, std::ldexp(1, -24), 65504, 1365.0 / 4096, HUGE_VAL});
    CHECK(read_array<std::int64_t>(write_file(dir / "b.npy", npy<std::uint8_t>("|b1", "(2,)", {1, 0}))) ==
          std::vector<std::int64_t>{1, 0});
  }

  TEST_CASE("a u8 above 2^63 - 1 is named, not turned negative") {
    const TempDir dir;
    const auto path = write_file(dir / "a.npy", npy<std::uint64_t>("<u8", "(2, 2)", {1, 2, 3, ~std::uint64_t{0}}));
    check_message(message_of<InputError>([&] { read_array<std::int64_t>(path); }),
                  {"a.npy", "element [1, 1]", "18446744073709551615"});
  }

  TEST_CASE("format 2.0 and 3.0, scalars and empty arrays") {
    const TempDir dir;
    for (const char version : {'\x02', '\x03'}) {
      const std::string text = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}\n";
      std::string bytes("\x93NUMPY", 6);
      bytes += {version, '\0', static_cast<char>(text.size()), '\0', '\0', '\0'};
      bytes += text + std::string("\x05\0\0\0", 4);
      CHECK(read_array<std::int64_t>(write_file(dir / "a.npy", bytes)) == std::vector<std::int64_t>{5});
    }
    CHECK(read_array<std::int64_t>(write_file(dir / "s.npy", npy<std::int32_t>("<i4", "()", {9}))).size() == 1);
    CHECK(read_array<std::int64_t>(write_file(dir / "e.npy", npy<std::int32_t>("<i4", "(0, 2)", {}))).empty());
  }

  TEST_CASE("bad headers are errors without large allocations") {
    const TempDir dir;
    const auto good = [](const std::string& shape) {
      return with_header("{'descr': '<i4', 'fortran_order': False, 'shape': " + shape + "}\n");
    };
    std::vector<std::string> bad = {
        "",
        "\x93NUMPY",
        std::string("\x93NUMPY\x01\x00\xff\xff", 10),
        std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12) + std::string(100, ' '),
        std::string("\x93NUMPY\x04\x00\x02\x00{}", 12),
        good("(4611686018427387904,)"),
        good("(4294967296, 4294967296)"),
        good("(99999999999999999999999,)"),
        good("(-1,)"),
        good("(1;)"),
        good("(1"),
        good("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
        with_header("{'descr': '<i4', 'fortran_order': False}\n"),
        with_header("{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': ()}\n"),
        with_header("{'descr': '<i4', 'fortran_order': Maybe, 'shape': ()}\n"),
        with_header("{'descr': '<i3', 'fortran_order': False, 'shape': ()}\n"),
        with_header("{'descr': '<c8', 'fortran_order': False, 'shape': ()}\n"),
        with_header("{'descr': '|O', 'fortran_order': False, 'shape': ()}\n"),
        with_header("{'descr': '>i4', 'fortran_order': False, 'shape': ()}\n"),
        with_header("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': ()}\n"),
        with_header("{'descr': '<i4"),
        with_header("nothing")};
    for (const std::string& bytes : bad) {
      CAPTURE(bytes);
      const auto path = write_file(dir / "a.npy", bytes);
      check_message(message_of<InputError>([&] { NpyReader reader(InputFile{path, ""}); }), {"a.npy", ".npy header"});
    }
    // A huge but possible shape: the first read says that the data is missing.
    const auto huge = write_file(dir / "a.npy", good("(1000000000000,)"));
    check_message(message_of<InputError>([&] {
                    NpyReader reader(InputFile{huge, ""});
                    std::vector<std::int64_t> some(10);
                    reader.read(some);
                  }),
                  {"element [0]", "cut short"});
  }

  TEST_CASE("an array cut at any byte is an error that names the element; more bytes than declared too") {
    const TempDir dir;
    const std::string whole = npy<std::int32_t>("<i4", "(3, 2)", {1, 2, 3, 4, 5, 6});
    const std::size_t data = whole.size() - 24;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      const auto path = write_file(dir / "a.npy", whole.substr(0, length));
      const std::string message = message_of<InputError>([&] { read_array<std::int64_t>(path); });
      check_message(message, {"a.npy"});
      if (length < data) continue;
      const std::size_t element = (length - data) / 4;
      check_message(message, {"element [" + std::to_string(element / 2) + ", " + std::to_string(element % 2) + "]",
                              "cut short", "(3, 2)"});
    }
    const auto longer = write_file(dir / "a.npy", whole + "x");
    check_message(message_of<InputError>([&] { read_array<std::int64_t>(longer); }), {"after the last element"});
  }

  TEST_CASE("written headers are aligned and read back") {
    const TempDir dir;
    for (const std::vector<std::uint64_t>& shape :
         {std::vector<std::uint64_t>{}, {0}, {5}, {3, 2}, {111'059'956, 128}, {1, 2, 3, 4}}) {
      const std::string header = npy_header("<f4", shape);
      CHECK(header.size() % 64 == 0);
      CHECK(header.back() == '\n');
      ByteSource source({write_file(dir / "a.npy", header), ""});
      const NpyHeader read = read_npy_header(source);
      CHECK(read.shape == shape);
      CHECK(read.kind == 'f');
      CHECK(read.item_bytes == 4);
      CHECK_FALSE(read.fortran_order);
      CHECK(source.peek(1).empty());
    }
    // The bytes that NumPy itself writes for numpy.zeros((3, 2), '<i8').
    CHECK(npy_header("<i8", std::vector<std::uint64_t>{3, 2}) ==
          std::string("\x93NUMPY\x01\x00v\x00", 10) + "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }" +
              std::string(58, ' ') + "\n");
  }
}
