// storage/formats/sealed_file.cpp - writes sealed files, maps them, and checks each chunk when it
// is first used.
#include "storage/formats/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <set>
#include <utility>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/map_guard.h"
#include "storage/io/waiting_items.h"

namespace unweave {
namespace {

constexpr char kMagic[8] = {'U', 'N', 'W', 'E', 'A', 'V', 'E', '\0'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kChunkLog2 = 12;
/// How much is asked for at a time. A system cuts a longer request to what it reads ahead of a
/// disk, 128 KiB where nobody has set more, and the rest of it would come page by page.
constexpr std::uint64_t kAskBytes = std::uint64_t{128} << 10;
constexpr std::uint64_t kRowBytes = std::uint64_t{16} << 10;  // at most, of a row or a few beside each other
constexpr std::uint64_t kAskChunks = kAskBytes / kSealedChunkBytes;
constexpr std::size_t kRootOffset = 104;
constexpr std::size_t kHeaderSumOffset = 120;

struct Header {
  char magic[8];
  char kind[8];
  std::uint32_t version;
  std::uint32_t chunk_log2;
  std::uint64_t payload_bytes;
  std::uint64_t parameters[6];
  std::byte zeros[24];
  std::byte root[16];
  std::uint64_t header_sum;
};
static_assert(sizeof(Header) == kSealedHeaderBytes);

void set_kind(char (&out)[8], std::string_view kind) {
  std::memset(out, ' ', sizeof out);
  std::memcpy(out, kind.data(), std::min(kind.size(), sizeof out));
}

std::span<const std::byte> raw(const Header& header, std::size_t bytes) {
  return {reinterpret_cast<const std::byte*>(&header), bytes};
}

}  // namespace

std::filesystem::path SealedName::make_temporary() const {
  const std::filesystem::path path = store / folder;
  make_folders(path);
  std::filesystem::path temporary = path / ("." + stem + "." + extension + ".new");
  drop_entry(temporary);
  return temporary;
}

SealedHeader seal(const SealedName& name, std::uint64_t payload_bytes, const SealedParameters& parameters,
                  std::span<const std::uint64_t> table) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  set_kind(header.kind, name.kind);
  header.version = kVersion;
  header.chunk_log2 = kChunkLog2;
  header.payload_bytes = payload_bytes;
  std::copy(parameters.begin(), parameters.end(), header.parameters);
  const Checksum128 root = checksum128(raw(header, kRootOffset), std::as_bytes(table));
  std::memcpy(header.root, root.data(), root.size());
  header.header_sum = checksum64(raw(header, kHeaderSumOffset));
  SealedHeader sealed;
  std::memcpy(sealed.bytes.data(), &header, sizeof header);
  const std::string hex = to_hex(root);
  sealed.entry = {name.folder + "/" + name.stem + "-" + hex.substr(0, 16) + "." + name.extension,
                  sealed_table_offset(payload_bytes) + table.size_bytes(), hex};
  return sealed;
}

FileEntry sealed_entry(const std::filesystem::path& store, const std::string& path) {
  const File file = File::open_stored(store / path);
  const std::uint64_t bytes = file.size();
  if (bytes < kSealedHeaderBytes)
    throw FormatError(store / path, "byte " + std::to_string(bytes), "the file is shorter than its header");
  Header header{};
  file.read_at(0, std::as_writable_bytes(std::span(&header, 1)));
  return {path, bytes, to_hex(header.root)};
}

void publish_sealed(const SealedName& name, const std::filesystem::path& temporary, const FileEntry& entry) {
  const std::filesystem::path target = name.store / entry.path;
  if (has_entry(target)) File::open_stored(temporary).sync();
  rename_entry(temporary, target);
}

SealedWriter::SealedWriter(SealedName name) : name_(std::move(name)), out_(File::create(name_.make_temporary())) {
  const Header room{};  // rewritten by finish()
  out_.append(raw(room, sizeof room));
}

SealedWriter::~SealedWriter() {
  if (out_.is_open()) drop_entry(out_.path());
}

void SealedWriter::append(std::span<const std::byte> bytes) {
  out_.append(bytes);
  size_ += bytes.size();
  // Whole chunks are summed where they lie; only the ends of a call that cut a chunk are copied.
  if (!chunk_.empty() || table_.empty()) {
    const std::size_t room = table_.empty() ? kSealedChunkBytes - kSealedHeaderBytes : kSealedChunkBytes;
    const std::size_t take = std::min(bytes.size(), room - chunk_.size());
    chunk_.insert(chunk_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(take));
    bytes = bytes.subspan(take);
    if (chunk_.size() < room) return;
    table_.push_back(checksum64(chunk_));
    chunk_.clear();
  }
  for (; bytes.size() >= kSealedChunkBytes; bytes = bytes.subspan(kSealedChunkBytes))
    table_.push_back(checksum64(bytes.first(kSealedChunkBytes)));
  chunk_.insert(chunk_.end(), bytes.begin(), bytes.end());
}

void SealedWriter::align(std::size_t alignment) {
  static constexpr std::byte kZeros[64]{};
  const std::size_t over = size_ % alignment;
  std::size_t missing = over == 0 ? 0 : alignment - over;
  while (missing > 0) {
    const std::size_t take = std::min(missing, sizeof kZeros);
    append({kZeros, take});
    missing -= take;
  }
}

FileEntry SealedWriter::finish(const SealedParameters& parameters) {
  if (!chunk_.empty()) table_.push_back(checksum64(chunk_));
  SealedHeader header = seal(name_, size_, parameters, table_);
  static constexpr std::byte kZeros[8]{};
  out_.append({kZeros, sealed_table_offset(size_) - kSealedHeaderBytes - size_});
  out_.append(std::as_bytes(std::span(table_)));
  const File file = out_.finish();
  file.write_at(0, header.bytes);
  file.begin_sync();  // while the next file is made
  publish_sealed(name_, file.path(), header.entry);
  return std::move(header.entry);
}

void sync_files(const std::filesystem::path& store, std::span<const FileEntry> files) {
  wait_together(files.size(), [&](std::size_t i) { File::open_stored(store / files[i].path).sync(); });
  std::set<std::filesystem::path> folders{store};
  for (const FileEntry& entry : files)
    for (auto folder = (store / entry.path).parent_path(); folder != store && folder.has_relative_path();
         folder = folder.parent_path())
      folders.insert(folder);
  for (const auto& folder : folders) sync_directory(folder);
}

SealedFile::SealedFile(const std::filesystem::path& store, const FileEntry& entry, std::string_view kind)
    : path_(store / entry.path) {
  const File file = File::open_stored(path_);
  const std::uint64_t bytes = file.size();
  const auto expect = [&](bool ok, std::size_t at, std::string_view what) {
    if (!ok) throw FormatError(path_, "byte " + std::to_string(at), what);
  };
  expect(bytes == entry.bytes, bytes,
         "the file has " + std::to_string(bytes) + " bytes, the manifest says " + std::to_string(entry.bytes));
  expect(bytes >= kSealedHeaderBytes, bytes, "the file is shorter than its header");
  // What is read around a page is this class's to choose: systems that read megabytes around each
  // would read most of a store when it is opened.
  (void)::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM);
  Header header{};
  file.read_at(0, std::as_writable_bytes(std::span(&header, 1)));
  char wanted[8];
  set_kind(wanted, kind);
  expect(std::memcmp(header.magic, kMagic, sizeof kMagic) == 0, 0, "magic: not a file of an unweave store");
  expect(header.header_sum == checksum64(raw(header, kHeaderSumOffset)), kHeaderSumOffset, "the header is damaged");
  expect(std::memcmp(header.kind, wanted, sizeof wanted) == 0, 8, "kind: expected '" + std::string(kind) + "'");
  expect(header.version == kVersion, 16, "version: this program reads version 1");
  expect(header.chunk_log2 == kChunkLog2, 20, "chunk size: expected 4 KiB");
  size_ = header.payload_bytes;
  expect(size_ <= bytes && sealed_file_bytes(size_) == bytes, 24,
         "payload length: does not agree with the file's length");
  expect(to_hex(header.root) == entry.root, kRootOffset, "root: not the file that the manifest names");
  std::copy(std::begin(header.parameters), std::end(header.parameters), parameters_.begin());

  void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (map == MAP_FAILED) throw_system_error("map", path_, errno);
  map_ = static_cast<const std::byte*>(map);
  map_bytes_ = bytes;
  try {
    guard_map(map_, bytes, path_, file.descriptor());
    ::madvise(map, bytes, MADV_RANDOM);
    table_ = map_ + sealed_table_offset(size_);
    ask(kSealedHeaderBytes + size_, bytes);  // padding and table are read now, from end to end
    const bool padded =
        std::all_of(data() + size_, table_, [](std::byte byte) { return byte == std::byte{0}; });  // under no checksum
    const Checksum128 root = checksum128(raw(header, kRootOffset), {table_, 8 * sealed_chunks(size_)});
    expect(padded && std::memcmp(root.data(), header.root, root.size()) == 0, kSealedHeaderBytes + size_,
           "the checksum table is damaged");
    checked_ = std::make_unique<std::atomic<std::uint64_t>[]>(sealed_chunks(size_) / 64 + 1);
  } catch (...) {
    forget_map(map_);
    ::munmap(map, bytes);
    throw;
  }
}

SealedFile::SealedFile(SealedFile&& other) noexcept
    : path_(std::move(other.path_)),
      map_(std::exchange(other.map_, nullptr)),
      map_bytes_(std::exchange(other.map_bytes_, 0)),
      size_(std::exchange(other.size_, 0)),
      parameters_(other.parameters_),
      table_(other.table_),
      checked_(std::move(other.checked_)) {}

DirectPiece::DirectPiece(std::size_t bytes)
    : memory_(static_cast<std::byte*>(std::aligned_alloc(kSealedChunkBytes, memory_bytes(bytes)))) {
  if (!memory_) throw std::bad_alloc();
}

std::uint64_t DirectPiece::memory_bytes(std::size_t bytes) noexcept {
  return (bytes / kSealedChunkBytes + 3) * kSealedChunkBytes;
}

SealedFile::~SealedFile() {
  if (map_ == nullptr) return;
  forget_map(map_);
  ::munmap(const_cast<std::byte*>(map_), map_bytes_);
}

std::span<const std::byte> SealedFile::bytes(std::uint64_t offset, std::uint64_t length) const {
  check(offset, length);
  return {data() + offset, static_cast<std::size_t>(length)};
}

void SealedFile::read_ahead(std::uint64_t offset, std::uint64_t length) const noexcept {
  if (offset >= size_ || length == 0) return;
  length = std::min(length, size_ - offset);
  // Rows that were read before are most likely there, and asking costs as much as reading them
  // then. A scan asks again.
  if (length <= kRowBytes && is_checked(offset, length)) return;
  ask(kSealedHeaderBytes + offset, kSealedHeaderBytes + offset + length);
  if (length <= kRowBytes) return;
  // The table was read when the file was opened, which may be long ago.
  const std::uint64_t table = sealed_table_offset(size_);
  ask(table + 8 * sealed_chunk(offset), table + 8 * (sealed_chunk(offset + length - 1) + 1));
}

void SealedFile::forget(std::uint64_t offset, std::uint64_t length) const noexcept {
  if (offset >= size_ || length == 0) return;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  // Pages at both ends are those of neighbours, too.
  const std::uint64_t first = (kSealedHeaderBytes + offset + page - 1) / page * page;
  const std::uint64_t last = (kSealedHeaderBytes + std::min(size_, offset + length)) / page * page;
  if (first >= last) return;
  ::madvise(const_cast<std::byte*>(map_ + first), last - first, MADV_DONTNEED);  // what is mapped stays in the cache
  const File file = File::try_open_stored(path_);
  if (!file.is_open()) return;
  (void)::posix_fadvise(file.descriptor(), static_cast<off_t>(first), static_cast<off_t>(last - first),
                        POSIX_FADV_DONTNEED);
}

void SealedFile::ask(std::uint64_t first, std::uint64_t last) const noexcept {
  // A page of the system may be larger than a chunk, and it takes no address within one.
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (std::uint64_t begin = first / page * page; begin < last; begin += kAskBytes)
    ::madvise(const_cast<std::byte*>(map_ + begin), std::min(last - begin, kAskBytes), MADV_WILLNEED);
}

void SealedFile::check(std::uint64_t offset, std::uint64_t length) const {
  require_whole_maps();
  if (offset > size_ || length > size_ - offset) fail(offset, "the range ends outside the file");
  if (length == 0) return;
  const std::uint64_t last = sealed_chunk(offset + length - 1);
  const std::uint64_t first = sealed_chunk(offset);
  // Whether those before it to the last multiple of kStepChunks, and as many before that, were used
  // before this chunk is.
  const auto follows_scan = [&](std::uint64_t chunk) {
    const std::uint64_t step = chunk / kStepChunks * kStepChunks;
    if (step == 0) return false;
    for (std::uint64_t before = step - kStepChunks; before < chunk; ++before)
      if (!is_checked(before)) return false;
    return true;
  };
  // Whether the step before asked for chunks ahead, as it does where the two before it were used.
  const auto follows_long_scan = [&](std::uint64_t chunk) {
    return chunk >= 4 * kStepChunks && follows_scan(chunk - kStepChunks) && follows_scan(chunk - 2 * kStepChunks);
  };
  bool asked = false, goes_on = false;
  for (std::uint64_t chunk = first; chunk <= last; ++chunk) {
    std::atomic<std::uint64_t>& word = checked_[chunk / 64];
    const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
    if ((word.load(std::memory_order_acquire) & bit) != 0) continue;
    // A range is asked for as far as it goes; a call that goes on where others ended, further. What
    // these read may end within a chunk, so that this one begins with a chunk that is checked.
    if (!asked) goes_on = follows_scan(chunk);
    // What has been asked for before costs time too: pages that are there are looked for one by
    // one.
    if (goes_on && chunk % kStepChunks == 0 && follows_long_scan(chunk)) {
      if (chunk % kAskChunks == 0) ask_chunks(chunk + kAheadChunks - kAskChunks, kAskChunks);
    } else if (goes_on && chunk % kStepChunks == 0) {
      ask_chunks(chunk, kAheadChunks);
    } else if (chunk < last && (!asked || chunk % kStepChunks == 0)) {
      ask_chunks(chunk, std::min(kAheadChunks, last + 1 - chunk));
    }
    asked = true;
    check_chunk(chunk);
    word.fetch_or(bit, std::memory_order_release);
  }
}

bool SealedFile::is_checked(std::uint64_t chunk) const noexcept {
  return (checked_[chunk / 64].load(std::memory_order_relaxed) >> chunk % 64 & 1U) != 0;
}

bool SealedFile::is_checked(std::uint64_t offset, std::uint64_t length) const noexcept {
  if (length == 0) return true;
  for (std::uint64_t chunk = sealed_chunk(offset); chunk <= sealed_chunk(offset + length - 1); ++chunk)
    if (!is_checked(chunk)) return false;
  return true;
}

void SealedFile::ask_chunks(std::uint64_t chunk, std::uint64_t count) const noexcept {
  read_ahead(sealed_chunk_begin(chunk), count * kSealedChunkBytes);
}

void SealedFile::check_all() const {
  std::uint64_t asked = 0;  // chunks, from the first on
  for (std::uint64_t chunk = 0; chunk < sealed_chunks(size_); ++chunk) {
    if (is_checked(chunk)) continue;
    if (asked < chunk + kAheadChunks - kAskChunks) {
      const std::uint64_t first = std::max(asked, chunk);
      asked = chunk + kAheadChunks;
      ask_chunks(first, asked - first);
    }
    check_chunk(chunk);
    checked_[chunk / 64].fetch_or(std::uint64_t{1} << (chunk % 64), std::memory_order_release);
  }
}

void SealedFile::check_chunk(std::uint64_t chunk) const {
  check_read(chunk, data() + sealed_chunk_begin(chunk));
}

void SealedFile::check_read(std::uint64_t chunk, const std::byte* bytes) const {
  const std::uint64_t first = sealed_chunk_begin(chunk);
  const std::uint64_t length = std::min(size_, sealed_chunk_begin(chunk + 1)) - first;
  std::uint64_t wanted = 0;
  std::memcpy(&wanted, table_ + 8 * chunk, sizeof wanted);
  if (checksum64({bytes, static_cast<std::size_t>(length)}) != wanted)
    fail(first, "checksum: these " + std::to_string(length) + " bytes are damaged");
}

std::span<const std::byte> SealedFile::read_past(const File& direct, std::uint64_t offset, std::uint64_t length,
                                                 DirectPiece& piece) const {
  require_whole_maps();
  if (offset > size_ || length > size_ - offset) fail(offset, "the range ends outside the file");
  if (length == 0) return {};
  // Chunks are the blocks of the file, of which whole ones are read; the file may end within the
  // last one.
  const std::uint64_t chunk = sealed_chunk(offset), last = sealed_chunk(offset + length - 1);
  const std::uint64_t from = chunk * kSealedChunkBytes, to = (last + 1) * kSealedChunkBytes;
  const std::uint64_t least = std::min(to, kSealedHeaderBytes + size_) - from;
  direct.read_some_at(from, {piece.get(), to - from}, least);
  for (std::uint64_t c = chunk; c <= last; ++c)
    check_read(c, piece.get() + (kSealedHeaderBytes + sealed_chunk_begin(c) - from));
  return {piece.get() + (kSealedHeaderBytes + offset - from), length};
}

void SealedFile::fail(std::uint64_t offset, std::string_view what) const {
  throw FormatError(path_, "byte " + std::to_string(kSealedHeaderBytes + offset), what);
}

}  // namespace unweave
