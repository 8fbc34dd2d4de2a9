// tests/support/hostile/corruption.cpp - damage without new checksums.
#include "support/hostile/corruption.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "support/input_files.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

/// Where the n-th byte of all lies.
std::pair<Files::const_iterator, std::size_t> locate(const Files& files, std::uint64_t n) {
  auto file = files.begin();
  for (; n >= file->second.size(); ++file) n -= file->second.size();
  return {file, static_cast<std::size_t>(n)};
}

/// One that has bytes.
const Files::value_type& any_file(const Files& files, Random& random) {
  while (true) {
    const auto& one = *std::next(files.begin(), static_cast<std::ptrdiff_t>(random() % files.size()));
    if (!one.second.empty()) return one;
  }
}

/// A few bytes as often as many.
std::size_t some_length(std::size_t most, Random& random) {
  const std::size_t length = std::size_t{1} << random() % 13;
  return std::min(most, 1 + random() % length);
}

std::string damaged(std::string bytes, Random& random, std::string& what) {
  const std::size_t at = random() % bytes.size();
  const std::size_t length = some_length(bytes.size() - at, random);
  const std::string place = std::to_string(length) + " bytes at " + std::to_string(at);
  switch (random() % 7) {
    case 0: {
      what = "bytes from " + std::to_string(at) + " on flipped";
      for (std::size_t i = 0, most = 2 + random() % 6; i < most; ++i) {
        char& byte = bytes[(at + random() % 64) % bytes.size()];
        byte = static_cast<char>(byte ^ static_cast<char>(1 + random() % 255));
      }
      break;
    }
    case 1:
      what = place + " zeroed";
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, '\0');
      break;
    case 2:
      what = place + " doubled";
      bytes.insert(at, bytes.substr(at, length));
      break;
    case 3:
      what = place + " left out";
      bytes.erase(at, length);
      break;
    case 4:
      what = place + " come from elsewhere";
      bytes.replace(at, length, bytes.substr(random() % (bytes.size() - length + 1), length));
      break;
    case 5:
      what = place + " are noise";
      for (std::size_t i = at; i < at + length; ++i) bytes[i] = static_cast<char>(random());
      break;
    default: {
      what = std::to_string(length) + " bytes added";
      for (std::size_t i = 0; i < length; ++i) bytes += static_cast<char>(random() % 3 == 0 ? random() : 0);
    }
  }
  return bytes;
}

/// Something else than a file at its place.
Corruption strange(const std::string& path, Random& random) {
  Corruption one{{}, path, {{path, std::nullopt}}, {}, false};
  const auto with = [&](const char* what, std::function<void(const fs::path&)> make) {
    one.what = path + ": " + what;
    one.change = [path, make = std::move(make)](const fs::path& store) { make(store / path); };
  };
  switch (random() % 5) {
    case 0:
      with("a folder", [](const fs::path& file) { fs::create_directory(file); });
      break;
    case 1:
      with("a pipe", [](const fs::path& file) { ::mkfifo(file.c_str(), 0600); });
      break;
    case 2:
      with("a link to itself", [](const fs::path& file) { fs::create_symlink(file, file); });
      break;
    case 3:
      with("a link to a device", [](const fs::path& file) { fs::create_symlink("/dev/zero", file); });
      break;
    default:
      with("a link outside", [](const fs::path& file) { fs::create_symlink("/etc/passwd", file); });
  }
  return one;
}

/// The key may be kept elsewhere.
bool must_exist(const std::string& path) {
  return path != "certificates/signing-key" && path != "lock";
}

/// The file of that name in another store, or of that name but for the hash.
const std::string* twin_of(const std::string& path, const Files& others) {
  const auto same = others.find(path);
  if (same != others.end()) return &same->second;
  const std::string stem = path.substr(0, path.find_last_of('-'));
  for (const auto& [other, bytes] : others)
    if (other.substr(0, other.find_last_of('-')) == stem && fs::path(other).extension() == fs::path(path).extension())
      return &bytes;
  return nullptr;
}

}  // namespace

std::uint64_t total_bytes(const Files& files) {
  std::uint64_t total = 0;
  for (const auto& [path, bytes] : files) total += bytes.size();
  return total;
}

Corruption flipped(const Files& files, std::uint64_t n) {
  const auto [file, at] = locate(files, n);
  std::string bytes = file->second;
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << (n * 5 % 8)));
  const std::string what = file->first + ": a bit of byte " + std::to_string(at) + " flipped";
  return {what, file->first, {{file->first, bytes}}, {}, false};
}

Corruption cut(const Files& files, std::uint64_t n) {
  const auto [file, at] = locate(files, n);
  const std::string what = file->first + ": ends at byte " + std::to_string(at);
  return {what, file->first, {{file->first, file->second.substr(0, at)}}, {}, false};
}

Corruption random_corruption(const FullStore& store, std::uint64_t seed) {
  Random random(seed);
  const auto& [path, bytes] = any_file(store.files, random);
  const std::string& name = path;  // lambdas cannot capture structured bindings everywhere
  switch (random() % 12) {
    case 0: {
      const auto& [other, others] = any_file(store.files, random);
      return {name + " and " + other + " exchanged", name, {{name, others}, {other, bytes}}, {}, false};
    }
    case 1: {
      const auto& [other, others] = any_file(store.files, random);
      return {name + ": is " + other, name, {{name, others}}, {}, false};
    }
    case 2:
      if (const std::string* twin = twin_of(name, store.of_other_seed))
        return {name + ": of another store", name, {{name, *twin}}, {}, false};
      break;
    case 3:
      if (must_exist(name)) return {name + ": missing", name, {{name, std::nullopt}}, {}, false};
      break;
    case 4:
      if (random() % 4 == 0) return strange(name, random);
      break;
    case 5: {  // two files at once
      const auto& [other, others] = any_file(store.files, random);
      std::string what, more;
      Corruption one{{}, name, {{name, damaged(bytes, random, what)}}, {}, false};
      one.files[other] = damaged(others, random, more);
      one.what = name + ": " + what + ", " + other + ": " + more;
      return one;
    }
    default:
      break;
  }
  std::string what;
  Corruption one{{}, name, {{name, damaged(bytes, random, what)}}, {}, false};
  one.what = name + ": " + what;
  return one;
}

}  // namespace unweave::testing
