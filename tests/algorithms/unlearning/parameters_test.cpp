// tests/algorithms/unlearning/parameters_test.cpp - parameters: one declaration gives name,
// default, values and place.
#include "algorithms/unlearning/parameters.h"

#include <doctest/doctest.h>

#include <cmath>

#include "storage/io/error.h"

namespace unweave {
namespace {

enum class Colour { red, green, blue };

struct Base {
  std::uint64_t count = 3;
  std::optional<double> share;
};
struct Own : Base {
  bool loud = false;
  Colour colour = Colour::green;
  double length = 2.5;
};

const ParametersOf<Own>& own_parameters() {
  static const auto kTable = ParametersOf<Own>()
                                 .add<&Own::count>("count", Values::whole(1, 9), "how many")
                                 .add<&Own::share>("share", Values::fraction(), "part of all")
                                 .add<&Own::loud>("loud", Values::flag(), "whether")
                                 .for_networks()
                                 .add<&Own::colour>("colour", Values::one_of({0, 1, 2}), "which")
                                 .add<&Own::length>("length", Values::positive(), "how long");
  return kTable;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("what is given goes into its member, what is not keeps its default") {
    const Own none = own_parameters().read({});
    CHECK(none.count == 3);
    CHECK_FALSE(none.share.has_value());
    CHECK(none.colour == Colour::green);
    const Own all = own_parameters().read({{"count", 9}, {"share", 0.5}, {"loud", 1}, {"colour", 2}, {"length", 1e-3}});
    CHECK(all.count == 9);
    CHECK(all.share == 0.5);
    CHECK(all.loud);
    CHECK(all.colour == Colour::blue);
    CHECK(all.length == 1e-3);
  }

  TEST_CASE("the list has the defaults, and which parameters are for networks") {
    const auto listed = own_parameters().listed();
    REQUIRE(listed.size() == 5);
    CHECK(listed[0].standard == 3.0);
    CHECK_FALSE(listed[1].standard.has_value());
    CHECK(listed[2].standard == 0.0);
    CHECK(listed[3].standard == 1.0);
    CHECK_FALSE(listed[2].networks_only);
    CHECK(listed[3].networks_only);
  }

  TEST_CASE("values out of range are refused with what they must be") {
    const auto refused = [](const char* name, double value, const char* words) {
      CHECK_THROWS_WITH_AS(static_cast<void>(own_parameters().read({{name, value}})), words, UsageError);
    };
    for (const double value : {0.0, 10.0, 2.5, -1.0})
      refused("count", value, "set=count must be a whole number from 1 to 9");
    for (const double value : {0.0, 1.1, -1.0}) refused("share", value, "set=share must be above 0 and at most 1");
    refused("loud", 2, "set=loud must be 0 or 1");
    refused("colour", 3, "set=colour must be 0, 1 or 2");
    refused("length", 0, "set=length must be above 0");
    CHECK_THROWS_WITH_AS(Values::within(0, 1).require("x", 2), "set=x must lie from 0 to 1", UsageError);
    CHECK_THROWS_WITH_AS(Values::at_least(0.5).require("x", 0), "set=x must be at least 0.5", UsageError);
  }

  TEST_CASE("unknown names, values that are not finite, and parameters of networks for a linear model are refused") {
    const auto refused = [](const GivenParameters& given, bool network, const char* words) {
      CHECK_THROWS_WITH_AS(require_parameters("magic", own_parameters(), given, network), words, UsageError);
    };
    refused({{"lenght", 1}}, true,
            "magic has no parameter \"lenght\" (did you mean 'length'?); it has count, share, loud, colour, length");
    refused({{"length", HUGE_VAL}}, true, "set=length must be finite");
    refused({{"length", 1}}, false, "magic minimises a linear model to tau; set=length is for its head=mlp");
    CHECK_NOTHROW(require_parameters("magic", own_parameters(), {{"length", 1}}, true));
    CHECK_THROWS_WITH_AS(require_parameters("magic", no_parameters(), {{"x", 1}}, true),
                         "magic has no parameters of its own; leave out set=x", UsageError);
    CHECK_THROWS_AS(require_at_most("rows", 5, 4), UsageError);
    CHECK_NOTHROW(require_at_most("rows", {}, 4));
  }
}

}  // namespace unweave
