// tests/engine/ranks/ranks_test.cpp - what the verbs of ranks do, by a job of threads.
#include "engine/ranks/ranks.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "support/thread_ranks.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("verbs of 1 to 8 ranks") {
    for (const std::size_t size : {1U, 2U, 3U, 8U}) {
      CAPTURE(size);
      std::atomic<int> wrong = 0;
      const auto expect = [&](bool holds) { wrong += holds ? 0 : 1; };
      testing::run_ranks(size, [&](Ranks& ranks) {
        expect(Ranks::world().rank() == ranks.rank() && Ranks::world().size() == size);
        expect(ranks.greatest(ranks.rank()) == size - 1);
        expect(from_first(std::string(ranks.first() ? "text" : "")) == "text");
        expect(from_first(std::vector<int>(ranks.first() ? 3 : 0, 7)) == std::vector<int>(3, 7));
        const std::vector<std::byte> mine(ranks.rank(), static_cast<std::byte>(ranks.rank()));
        const auto all = ranks.gather(mine);
        expect(all.size() == (ranks.first() ? size : 0));
        for (std::size_t i = 0; i < all.size(); ++i) expect(all[i] == std::vector(i, static_cast<std::byte>(i)));
        std::vector<double> total{1};
        ranks.sum_in_order(total, [&] { total[0] = 2 * total[0] + static_cast<double>(ranks.rank()); });
        double wanted = 1;
        for (std::size_t i = 0; i < size; ++i) wanted = 2 * wanted + static_cast<double>(i);
        expect(total[0] == wanted);
      });
      CHECK(wrong == 0);
      CHECK(Ranks::world().alone());
    }
  }

  TEST_CASE("what one rank throws ends all") {
    std::atomic<int> told = 0;
    CHECK_THROWS_WITH_AS(testing::run_ranks(3,
                                            [&](Ranks& ranks) {
                                              if (ranks.rank() == 1) throw ResourceError("full");
                                              try {
                                                ranks.barrier();
                                              } catch (const ResourceError&) {
                                                ++told;
                                                throw;
                                              }
                                            }),
                         "full", ResourceError);
    CHECK(told == 2);
  }
}

}  // namespace unweave
