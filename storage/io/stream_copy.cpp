// storage/io/stream_copy.cpp - copies whole vectors past the caches, and the unaligned rest as
// usual.
#include "storage/io/stream_copy.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace unweave {
namespace {

// The vectors that every processor of this architecture has are enough: four of them fill a line.
namespace hn = hwy::HWY_NAMESPACE;
using Bytes = hn::CappedTag<std::uint8_t, 64>;
constexpr std::size_t kLine = 64;

}  // namespace

void stream_copy(std::byte* to, std::span<const std::byte> bytes) noexcept {
  const Bytes d;
  const std::size_t over = reinterpret_cast<std::uintptr_t>(to) % kLine;
  const std::size_t head = std::min(bytes.size(), over == 0 ? 0 : kLine - over);
  std::memcpy(to, bytes.data(), head);
  auto* const out = reinterpret_cast<std::uint8_t*>(to);
  const auto* const in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t at = head;
  for (; at + kLine <= bytes.size(); at += kLine)
    for (std::size_t v = 0; v < kLine; v += hn::Lanes(d)) hn::Stream(hn::LoadU(d, in + at + v), d, out + at + v);
  if (at < bytes.size()) std::memcpy(to + at, bytes.data() + at, bytes.size() - at);
  hwy::FlushStream();
}

}  // namespace unweave
