// tests/bench/outside_loop.cpp - sums over uncompressed lists, by a loop that shares no line with
// the engine: the limit of a sweep.
//
//   outside_loop OFFSETS TARGETS FEATURES THREADS LINES REPEATS [FILE]
//
// OFFSETS has nodes + 1 numbers of 64 bits, TARGETS the lists, 32 bits a node. Every node receives
// its own row and those of its list, of FEATURES int32, a multiple of 128, that lie in huge pages;
// rows are fetched LINES cache lines ahead, sums stay in registers. With FILE they are also written
// to a new file, by pwrite, a call for 256 nodes. Prints (arcs + nodes) x features a second, best
// of REPEATS.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace {

template <class T>
T* pages(std::size_t count) {
  void* const all = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) std::exit(1);
  madvise(all, count * sizeof(T), MADV_HUGEPAGE);
  return static_cast<T*>(all);
}

template <class T>
T* read(const char* file, std::size_t& count) {
  count = std::filesystem::file_size(file) / sizeof(T);
  T* const all = pages<T>(count);
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(all), static_cast<std::streamsize>(count * sizeof(T)));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7 && argc != 8) return 1;
  std::size_t nodes = 0, arcs = 0;
  const auto* const offsets = read<std::uint64_t>(argv[1], nodes);
  const auto* const targets = read<std::uint32_t>(argv[2], arcs);
  --nodes;
  const auto features = static_cast<std::size_t>(std::atoi(argv[3])),
             threads = static_cast<std::size_t>(std::atoi(argv[4]));
  const std::size_t lines = (features * sizeof(std::int32_t) + 63) / 64,
                    ahead = static_cast<std::size_t>(std::atoi(argv[5])) / lines + 1;
  auto* const x = pages<std::int32_t>(nodes * features);
  auto* const y = pages<std::int32_t>(nodes * features);
  for (std::size_t i = 0; i < nodes * features; ++i) x[i] = static_cast<std::int32_t>(i * 2654435761U >> 12);
  double best = 0;
  for (int repeat = 0; repeat < std::atoi(argv[6]); ++repeat) {
    if (argc == 8) unlink(argv[7]);
    const int file = argc == 8 ? open(argv[7], O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    std::atomic<std::size_t> next{0};
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        constexpr std::size_t kNodes = 256, kColumns = 128;
        for (std::size_t first; (first = next.fetch_add(kNodes)) < nodes;) {
          for (std::size_t v = first; v < std::min(nodes, first + kNodes); ++v) {
            for (std::size_t column = 0; column < features; column += kColumns) {
              std::array<std::int32_t, kColumns> sum;
              std::copy_n(x + v * features + column, kColumns, sum.begin());
              for (std::uint64_t k = offsets[v]; k < offsets[v + 1]; ++k) {
                if (k + ahead < arcs)
                  for (std::size_t f = 0; f < kColumns; f += 16)
                    __builtin_prefetch(x + targets[k + ahead] * features + column + f);
                const std::int32_t* const row = x + targets[k] * features + column;
                for (std::size_t f = 0; f < kColumns; ++f) sum[f] += row[f];
              }
              std::copy_n(sum.begin(), kColumns, y + v * features + column);
            }
          }
          const std::size_t bytes = (std::min(nodes, first + kNodes) - first) * features * sizeof(std::int32_t);
          const auto at = static_cast<off_t>(first * features * sizeof(std::int32_t));
          if (file >= 0 && pwrite(file, y + first * features, bytes, at) != static_cast<ssize_t>(bytes)) std::exit(2);
        }
      });
    workers.clear();
    if (file >= 0) close(file);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, static_cast<double>((arcs + nodes) * features) / seconds);
  }
  std::uint32_t check = 0;
  for (std::size_t i = 0; i < nodes * features; ++i) check = check * 31 + static_cast<std::uint32_t>(y[i]);
  std::printf("%.4g %u\n", best, check);
}
