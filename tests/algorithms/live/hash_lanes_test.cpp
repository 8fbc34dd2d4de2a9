// tests/algorithms/live/hash_lanes_test.cpp - hashes made side by side are those of libsodium.
#include "algorithms/live/hash_lanes.h"

#include <doctest/doctest.h>
#include <sodium.h>

#include <random>
#include <vector>

#include "support/vector_targets.h"

namespace unweave {
namespace {

using testing::for_each_target;

TEST_SUITE("unit") {
  TEST_CASE("messages of all lengths, in any number and order, have the hashes of libsodium") {
    std::mt19937 random(5);
    // There are fewer messages than lanes, and more, of lengths around those of blocks.
    for (const std::size_t count : {0U, 1U, 2U, 7U, 8U, 9U, 40U, 700U}) {
      CAPTURE(count);
      std::vector<HashedMessage> messages;
      std::vector<std::byte> buffer;
      std::vector<Digest> wanted(count), hashes(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t bytes = count == 700 ? i + 1 : 1 + random() % (i % 5 == 0 ? 3000 : 300);
        messages.push_back({buffer.size(), bytes, &hashes[i]});
        for (std::size_t k = 0; k < bytes; ++k) buffer.push_back(static_cast<std::byte>(random()));
        crypto_generichash(reinterpret_cast<unsigned char*>(wanted[i].data()), sizeof(Digest),
                           reinterpret_cast<const unsigned char*>(buffer.data()) + messages.back().first, bytes,
                           nullptr, 0);
        buffer.resize((buffer.size() + kHashBlockBytes - 1) / kHashBlockBytes * kHashBlockBytes);
      }
      for_each_target([&] {
        hashes.assign(count, Digest{});
        hash_side_by_side(buffer, messages);
        CHECK(hashes == wanted);
      });
    }
  }
}

}  // namespace
}  // namespace unweave
