// tools/examples/follow_hnswlib.cpp - keeps an index of hnswlib in step with a feed of changes
// (`unweave stream --changes FEED`).
//
//   g++ -std=c++17 -O2 tools/examples/follow_hnswlib.cpp -o follow_hnswlib -pthread     needs Debian's libhnswlib-dev
//   ./follow_hnswlib FEED READER INDEX        takes the entries that READER has not taken yet into
//                                             the file INDEX
//   ./follow_hnswlib --nearest INDEX Z.npy    prints of each row of Z.npy the node whose row is
//                                             nearest, and the squared distance
//
// Labels of the index are nodes. A row that changed replaces the one of its label; a node without a
// row any more is marked as deleted, and no search finds it. hnswlib keeps the bytes of a deleted
// row until another takes its place, and neighbours were chosen while it was there: an entry that
// holds all rows (the first one, and the one after a purge) therefore makes a new index.
#include <fcntl.h>
#include <hnswlib/hnswlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Index = hnswlib::HierarchicalNSW<float>;

/// An array of one or two dimensions as NumPy writes it. `rows` by `columns`, in C order.
template <class T>
struct Array {
  std::size_t rows = 0, columns = 1;
  std::vector<T> values;
};

template <class T>
Array<T> load(const fs::path& path, const std::string& type) {
  std::ifstream file(path, std::ios::binary);
  char start[10] = {};
  if (!file.read(start, sizeof start) || std::memcmp(start, "\x93NUMPY\x01", 7) != 0)
    throw std::runtime_error(path.string() + ": no .npy file of version 1; has the entry gone?");
  std::string header(static_cast<unsigned char>(start[8]) + 256U * static_cast<unsigned char>(start[9]), '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  const std::size_t shape = header.find("'shape': (");
  if (header.find("'" + type + "'") == std::string::npos || shape == std::string::npos)
    throw std::runtime_error(path.string() + ": elements of another type than " + type);
  Array<T> array;
  char* rest = nullptr;
  array.rows = std::strtoull(header.c_str() + shape + 10, &rest, 10);
  if (rest[0] == ',' && rest[1] == ' ') array.columns = std::strtoull(rest + 2, nullptr, 10);
  array.values.resize(array.rows * array.columns);
  const std::size_t bytes = array.values.size() * sizeof(T);
  if (bytes > 0 && !file.read(reinterpret_cast<char*>(array.values.data()), static_cast<std::streamsize>(bytes)))
    throw std::runtime_error(path.string() + ": the file ends early");
  return array;
}

/// A line of changes.jsonl, whose fields are numbers and booleans.
struct Entry {
  std::uint64_t number = 0;
  bool complete = false;
};

std::vector<Entry> entries_of(const fs::path& feed) {
  std::ifstream file(feed / "changes.jsonl");
  if (!file)
    throw std::runtime_error(feed.string() + ": no feed of changes here; begin one with unweave stream --changes");
  std::vector<Entry> entries;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
    const std::size_t at = line.find("\"entry\":");
    if (at == std::string::npos) throw std::runtime_error(feed.string() + "/changes.jsonl: a line without an entry");
    entries.push_back(
        {std::strtoull(line.c_str() + at + 8, nullptr, 10), line.find("\"complete\":true") != std::string::npos});
  }
  return entries;
}

/// What a reader has taken. The file is its receipt, for which a purge asks.
std::uint64_t taken_by(const fs::path& receipt) {
  std::uint64_t taken = 0;
  std::ifstream(receipt) >> taken;
  return taken;
}

/// Waits until a file is on the disk.
void make_durable(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!done) throw std::runtime_error(path.string() + ": cannot be synced");
}

void write_receipt(const fs::path& feed, const std::string& reader, std::uint64_t entry) {
  const fs::path beside = feed / ("." + reader + ".new");  // in readers/ it would be taken for one
  const std::string text = std::to_string(entry) + "\n";
  fs::remove(beside);  // what a crash has left, or a link that somebody has put there
  const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  const bool done = descriptor >= 0 &&
                    ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                    ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!done) throw std::runtime_error(beside.string() + ": cannot be written");
  if (!fs::is_directory(fs::symlink_status(feed / "readers")))
    throw std::runtime_error((feed / "readers").string() + ": this is no folder");
  fs::rename(beside, feed / "readers" / reader);
}

/// The dimension of an index, beside its file: hnswlib's own does not say it.
std::size_t dimension_of(const fs::path& index) {
  std::size_t dimension = 0;
  std::ifstream(index.string() + ".dim") >> dimension;
  if (dimension == 0)
    throw std::runtime_error(index.string() + ".dim: missing; remove the receipt of the reader and begin anew");
  return dimension;
}

void follow(const fs::path& feed, const std::string& reader, const fs::path& file) {
  const std::uint64_t taken = taken_by(feed / "readers" / reader);
  std::vector<Entry> waiting;
  for (const Entry& entry : entries_of(feed)) {
    if (entry.number <= taken) continue;
    if (entry.complete) waiting.clear();  // nothing before it matters
    waiting.push_back(entry);
  }
  if (taken == 0) write_receipt(feed, reader, 0);
  if (waiting.empty()) return;

  std::unique_ptr<hnswlib::L2Space> space;
  std::unique_ptr<Index> index;
  if (!waiting.front().complete) {
    space = std::make_unique<hnswlib::L2Space>(dimension_of(file));
    index = std::make_unique<Index>(space.get(), file.string());
  }
  std::size_t dimension = index ? dimension_of(file) : 0;
  for (const Entry& entry : waiting) {
    const std::string name = std::to_string(entry.number);
    const auto ids = load<std::int64_t>(feed / (name + ".ids.npy"), "<i8");
    const auto rows = load<float>(feed / (name + ".rows.npy"), "<f4");
    const auto removed = load<std::int64_t>(feed / (name + ".removed.npy"), "<i8");
    if (entry.complete) {
      index.reset();
      dimension = rows.columns;
      space = std::make_unique<hnswlib::L2Space>(dimension);
      index = std::make_unique<Index>(space.get(), std::max<std::size_t>(1, ids.rows), 16, 200);
    }
    for (std::size_t i = 0; i < ids.rows; ++i) {
      if (index->cur_element_count == index->max_elements_) index->resizeIndex(2 * index->max_elements_);
      index->addPoint(&rows.values[i * dimension], static_cast<hnswlib::labeltype>(ids.values[i]));
    }
    for (const std::int64_t node : removed.values)
      if (index->label_lookup_.count(static_cast<hnswlib::labeltype>(node)) > 0)
        index->markDelete(static_cast<hnswlib::labeltype>(node));
  }
  // The receipt comes last: whoever is killed before it takes the same entries again, with the same
  // end.
  index->saveIndex(file.string() + ".new");
  std::ofstream(file.string() + ".dim") << dimension << "\n";
  make_durable(file.string() + ".new");
  fs::rename(file.string() + ".new", file);
  write_receipt(feed, reader, waiting.back().number);
}

void print_nearest(const fs::path& file, const fs::path& queries) {
  hnswlib::L2Space space(dimension_of(file));
  Index index(&space, file.string());
  index.setEf(400);
  const auto rows = load<float>(queries, "<f4");
  for (std::size_t i = 0; i < rows.rows; ++i) {
    auto found = index.searchKnn(&rows.values[i * rows.columns], 1);
    if (found.empty()) throw std::runtime_error(file.string() + ": no row is in the index");
    std::printf("%llu %.9g\n", static_cast<unsigned long long>(found.top().second),
                static_cast<double>(found.top().first));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error("usage: follow_hnswlib FEED READER INDEX | --nearest INDEX Z.npy");
    if (std::string(argv[1]) == "--nearest")
      print_nearest(argv[2], argv[3]);
    else
      follow(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "follow_hnswlib: " << error.what() << "\n";
    return 2;
  }
}
