// tests/storage/types/pair_rules_test.cpp - roles of pairs, and rules as text.
#include "storage/types/pair_rules.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "storage/types/keyed_bits.h"

namespace unweave {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(pair_rules_named(text));
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("roles of all pairs of 300 nodes come as declared, whichever end is named first") {
    CHECK(random_key(7, 5) == 0x591A5CA9608CC826);
    const PairRules rules = pair_rules_named("valid=.1,test=.1,share=.3,apart,negatives=2,key=11");
    std::array<double, 4> counts{};
    std::size_t turned = 0;
    for (NodeId u = 0; u < 300; ++u)
      for (NodeId v = 0; v < u; ++v) {
        const PairRole role = rules.role(u, v);
        CHECK(rules.role(v, u) == role);
        PairRules directed = rules;
        directed.directed = true;
        CHECK(directed.role(std::min(u, v), std::max(u, v)) == role);
        turned += directed.role(std::max(u, v), std::min(u, v)) == role ? 0 : 1;
        CHECK(rules.holds(u, v) == (role != PairRole::plain));
        ++counts[static_cast<std::size_t>(role)];
      }
    CHECK(turned > 20'000);  // where edges have directions, a pair the other way round is another one
    const std::array<double, 4> shares{.1, .1, .24, .56};
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(counts[i] / (300. * 299. / 2.) - shares[i]) < .01);
    PairRules inside = rules;
    inside.apart = false;
    CHECK_FALSE(inside.holds(PairRole::label));
    CHECK(inside.holds(PairRole::test));
  }

  TEST_CASE("rules are text that reads back the same") {
    for (const std::string text :
         {"valid=.2,test=.1", "share=0.3", "negatives=7,apart,key=18446744073709551615",
          "uniform=4294967296,valid=1e-9", "valid=0.333333,test=0.123456789,share=0.7182818"}) {
      const PairRules rules = pair_rules_named(text);
      CAPTURE(text_of(rules));
      CHECK(pair_rules_named(text_of(rules)) == rules);
      CHECK(pair_rules_fault(rules).empty());
    }
    CHECK(text_of(pair_rules_named("valid=.25,test=.5")) == "valid=0.25,test=0.5,share=1,negatives=1");
    CHECK(pair_rules_named("valid=.1").below_valid == 429496729);
    CHECK(pair_rules_named("uniform=5").negatives == 0);
    CHECK(id_bits(1) == 1);
    CHECK(id_bits(2) == 1);
    CHECK(id_bits(40000) == 16);
    CHECK(id_bits(65536) == 16);
    CHECK(id_bits(65537) == 17);
  }

  TEST_CASE("rules that make no sense are refused with a line that says which words there are") {
    for (const std::string text : {"",
                                   "valid",
                                   "valid=",
                                   "valid=1.5",
                                   "valid=-1",
                                   "valid=nan",
                                   "valid=.1x",
                                   "valid=.1,",
                                   "valid=.1,valid=.1",
                                   "valid=.6,test=.6",
                                   "negatives=0",
                                   "negatives=1001",
                                   "negatives=-1",
                                   "uniform=0",
                                   "uniform=5,negatives=1",
                                   "uniform=4294967297",
                                   "apart=1",
                                   "appart",
                                   "key=-1",
                                   "key=18446744073709551616"}) {
      CAPTURE(text);
      CHECK(refusal_of(text).find("pairs") != std::string::npos);
    }
    CHECK(refusal_of("vaild=.1").find("valid=S") != std::string::npos);
  }
}

}  // namespace unweave
