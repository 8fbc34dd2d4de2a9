// tests/storage/input/tables/line_order_test.cpp - orders of lines, against permutations that are
// made and known.
#include "storage/input/tables/line_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "support/input_files.h"

namespace unweave {
namespace {

using testing::check_message;
using testing::message_of;
using Words = std::vector<std::string>;

ColumnOrder order_of(const Words& words) {
  ColumnOrder order(true);
  for (const std::string& word : words) order.add(word);
  return order;
}

bool differ(const Words& a, const Words& b) {
  const bool found = order_of(a).shared_with(order_of(b)).moved;
  CHECK(order_of(b).shared_with(order_of(a)).moved == found);
  return found;
}

Words numbered(std::size_t count) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = "name-" + std::to_string(i);
  return words;
}

LineNumbers numbers_of(const Words& words) {
  LineNumbers numbers;
  for (const std::string& word : words) numbers.see(word);
  return numbers;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("columns of the same words differ where a word has moved, of any number of them") {
    std::mt19937 random(7);
    for (const std::size_t count : {2U, 3U, 5U, 64U, 65U, 1000U, 20'000U}) {
      CAPTURE(count);
      const Words names = numbered(count);
      Words moved = names;
      CHECK_FALSE(differ(names, names));
      std::swap(moved[random() % (count - 1)], moved.back());
      CHECK(differ(names, moved));
      std::shuffle(moved.begin(), moved.end(), random);
      CHECK(differ(names, moved) == (moved != names));
      // A header stands above one of them, or above both.
      Words headed = names;
      headed.insert(headed.begin(), "who");
      CHECK_FALSE(differ(names, headed));
      Words moved_headed = moved;
      moved_headed.insert(moved_headed.begin(), "who");
      if (count > 2) CHECK(differ(names, moved_headed) == (moved != names));
      CHECK(differ(headed, moved_headed) == (moved != names));
    }
  }

  TEST_CASE("a word that only one of two columns has hides no other order, and is none") {
    std::mt19937 random(8);
    for (const std::size_t count : {5U, 64U, 1000U, 20'000U}) {
      CAPTURE(count);
      const Words names = numbered(count);
      Words other = names;
      other[random() % count] = "foreign";
      CHECK_FALSE(differ(names, other));
      std::shuffle(other.begin(), other.end(), random);
      CHECK(differ(names, other));
    }
    CHECK_FALSE(differ(numbered(10), {"x", "name-0", "y", "z", "u", "v", "w", "a", "b", "c"}));  // others
  }

  TEST_CASE("words that repeat name no nodes") {
    CHECK_FALSE(differ({"f", "m", "f", "m"}, {"m", "f", "m", "f"}));
    Words boss(5000, "bob"), other(5000, "bob");
    boss[3] = other[4] = "ann";
    CHECK_FALSE(differ(boss, other));
    CHECK_FALSE(differ({}, {}));
    CHECK_FALSE(differ({"a"}, {"b"}));
  }

  TEST_CASE("numbers of lines: each once, from 0 or from 1, in another order") {
    CHECK(numbers_of({"2", "0", "1"}).differ_in_order());
    CHECK(numbers_of({"id", "2", "0", "1"}).differ_in_order());
    CHECK(numbers_of({"3", "1", "2"}).differ_in_order());
    for (const Words& words : {Words{"0", "1", "2"}, Words{"1", "2", "3"}, Words{"2", "0", "5"}, Words{"2", "0", "0"},
                               Words{"2", "x", "1"}, Words{"1", "0"}, Words{"x", "y", "z"}, Words{}})
      CHECK_FALSE(numbers_of(words).differ_in_order());
  }

  TEST_CASE("tables are held against the names, and against each other") {
    LineOrders orders;
    CHECK_FALSE(orders.has_names());
    const Words ids{"1001", "1005", "1003"}, moved{"1005", "1001", "1003"};
    // Both have whom they know, which is the same words, too.
    orders.add({"f.csv", {{"cust", order_of(ids)}, {"knows", order_of(moved)}}});
    orders.add({"l.csv", {{"knows", order_of(moved)}, {"cust", order_of(ids)}}});
    orders.add({"f.csv", {{"cust", order_of(moved)}}});  // read again, other columns left out
    check_message(message_of<InputError>([&] {
                    orders.add({"m.csv", {{"who", order_of({"1003", "1001", "1005"})}}});
                  }),
                  {"m.csv", "column who", "of l.csv", "another order", "'l.csv["});
    orders.set_names(order_of({"ann", "bob", "cid"}));
    CHECK(orders.has_names());
    orders.add({"n.csv", {{"name", order_of({"ann", "bob", "cid"})}}});
    check_message(message_of<InputError>([&] {
                    orders.add({"o.csv", {{"name", order_of({"bob", "ann", "dan"})}}});
                  }),
                  {"o.csv", "column name", "names of the nodes in another order", "'o.csv[name]'"});
    const std::string letters = message_of<InputError>([&] {
      orders.add({"p.csv", {{"name", order_of({"BOB", "Ann", "CID"})}}});
    });
    check_message(letters, {"p.csv", "in another order", "written otherwise", "sort the lines into the order"});
    CHECK(letters.find("p.csv[name]") == std::string::npos);  // whose names no edge has
    CHECK(orders.has_some_names(order_of({"bob", "ann", "dan"})));
    CHECK_FALSE(orders.has_some_names(order_of({"x", "y", "z"})));
    CHECK(orders.has_names_in_order(order_of({"ann", "bob", "cid"})));
    CHECK_FALSE(orders.has_names_in_order(order_of({"ann", "cid", "bob"})));
    CHECK(order_of({"a", "b"}).has_each_once());
    CHECK_FALSE(order_of({"a", "b", "b"}).has_each_once());
  }
}

}  // namespace unweave
