// storage/input/bytes/raw_bytes.cpp - opens plain files and pipes, and decodes gzip and zstd.
#include "storage/input/bytes/raw_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kCompressedBuffer = std::size_t{256} << 10;
constexpr std::string_view kFetchAgain = "fetch or write the file again";

/// Window in bytes of the zstd frame whose header this begins with (RFC 8878, section 3.1.1.1).
std::uint64_t window_of_frame(std::span<const char> head) {
  const auto byte = [&](std::size_t at) {
    return std::uint64_t{at < head.size() ? static_cast<unsigned char>(head[at]) : 0U};
  };
  const std::uint64_t descriptor = byte(4);
  if ((descriptor & 0x20) == 0) {
    const std::uint64_t base = std::uint64_t{1} << (10 + (byte(5) >> 3));
    return base + base / 8 * (byte(5) & 7);
  }
  // A single segment: the window is all of the content, whose size follows the id of a dictionary.
  constexpr std::size_t kIdBytes[] = {0, 1, 2, 4};
  const std::size_t at = 5 + kIdBytes[descriptor & 3], size_bytes = std::size_t{1} << (descriptor >> 6);
  std::uint64_t size = size_bytes == 2 ? 256 : 0;
  for (std::size_t i = 0; i < size_bytes; ++i) size += byte(at + i) << (8 * i);
  return size;
}

class FileBytes final : public RawBytes {
 public:
  explicit FileBytes(const std::filesystem::path& path)
      : name_(path), descriptor_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw_system_error("open", name_, errno);
    struct stat status = {};
    const bool known = ::fstat(descriptor_, &status) == 0;
    if (known && S_ISDIR(status.st_mode)) {
      close_own();
      throw DataError(name_.string() + ": this is a directory; name a file");
    }
    regular_ = known && S_ISREG(status.st_mode) && path != "-";
    if (regular_) (void)::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~FileBytes() override { close_own(); }

  /// Fills head_ with up to `count` bytes, which read() then gives first.
  const std::string& fetch_head(std::size_t count) {
    head_.resize(count);
    std::size_t have = 0;
    while (have < count) {
      const std::size_t got = read_system(std::span(head_).subspan(have));
      if (got == 0) break;
      have += got;
    }
    head_.resize(have);
    return head_;
  }
  [[nodiscard]] bool regular() const noexcept { return regular_; }

  std::size_t read(std::span<char> out) override {
    if (given_ == head_.size()) return read_system(out);
    const std::size_t count = std::min(out.size(), head_.size() - given_);
    std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(given_), count, out.begin());
    given_ += count;
    return count;
  }

  void skip(std::uint64_t count) override {
    const std::uint64_t from_head = std::min<std::uint64_t>(count, head_.size() - given_);
    given_ += static_cast<std::size_t>(from_head);
    count -= from_head;
    if (!regular_) {
      RawBytes::skip(count);
    } else if (count > 0 && ::lseek(descriptor_, static_cast<off_t>(count), SEEK_CUR) < 0) {
      throw_system_error("seek in", name_, errno);
    }
  }

 private:
  std::size_t read_system(std::span<char> out) {
    while (true) {
      const ssize_t got = ::read(descriptor_, out.data(), out.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw_system_error("read", name_, errno);
    }
  }

  void close_own() const noexcept {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }

  std::filesystem::path name_;
  int descriptor_;
  bool regular_ = false;
  std::string head_;
  std::size_t given_ = 0;  // bytes of head_ that read() has returned
};

class GzipBytes final : public RawBytes {
 public:
  GzipBytes(std::unique_ptr<RawBytes> compressed, const std::filesystem::path& name)
      : compressed_(std::move(compressed)), name_(name), buffer_(kCompressedBuffer) {
    constexpr int kGzipOnly = 15 + 16;  // largest window, gzip wrapper required
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw ResourceError(name_.string() + ": no memory for gzip");
  }
  ~GzipBytes() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> out) override {
    const std::size_t wanted = std::min<std::size_t>(out.size(), std::size_t{1} << 30);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(wanted);
    while (stream_.avail_out == wanted) {
      if (stream_.avail_in == 0 && !refill()) return 0;
      if (!inside_member_) {
        inflateReset(&stream_);
        inside_member_ = true;
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        inside_member_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        throw DataError(name_.string() + ": corrupted gzip data (" + (stream_.msg != nullptr ? stream_.msg : "error") +
                        "); " + std::string(kFetchAgain));
      }
    }
    return wanted - stream_.avail_out;
  }

 private:
  bool refill() {
    const std::size_t got = compressed_->read(buffer_);
    if (got == 0 && inside_member_) {
      throw DataError(name_.string() + ": the gzip data is cut short; " + std::string(kFetchAgain));
    }
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  std::unique_ptr<RawBytes> compressed_;
  std::filesystem::path name_;
  std::vector<char> buffer_;
  z_stream stream_ = {};
  bool inside_member_ = true;
};

class ZstdBytes final : public RawBytes {
 public:
  ZstdBytes(std::unique_ptr<RawBytes> compressed, const std::filesystem::path& name, const ChargeReader& charge)
      : compressed_(std::move(compressed)), name_(name), buffer_(kCompressedBuffer) {
    constexpr std::size_t kMostHeader = 18;  // bytes
    std::size_t have = 0;
    while (have < kMostHeader) {
      const std::size_t got = compressed_->read(std::span(buffer_).subspan(have));
      if (got == 0) break;
      have += got;
    }
    input_ = {buffer_.data(), have, 0};
    const std::uint64_t window = window_of_frame(std::span(buffer_).first(have));
    if (charge)
      memory_ = charge(window);
    else if (window > kUsualWindow)
      refuse_window();
    stream_ = ZSTD_createDStream();
    if (stream_ == nullptr) throw ResourceError(name_.string() + ": no memory for zstd");
    const ZSTD_bounds logs = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    const int log = static_cast<int>(std::bit_width(std::max(window, kUsualWindow) - 1));
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, std::min(log, logs.upperBound));
  }
  ~ZstdBytes() override { ZSTD_freeDStream(stream_); }

  std::size_t read(std::span<char> out) override {
    while (true) {
      if (input_.pos == input_.size && !unflushed_ && !refill()) return 0;
      ZSTD_outBuffer output = {out.data(), out.size(), 0};
      const std::size_t result = ZSTD_decompressStream(stream_, &output, &input_);
      if (ZSTD_isError(result) != 0) {
        if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) refuse_window();
        throw DataError(name_.string() + ": corrupted zstd data (" + ZSTD_getErrorName(result) + "); " +
                        std::string(kFetchAgain));
      }
      inside_frame_ = result != 0;
      unflushed_ = inside_frame_ && output.pos == output.size;
      if (output.pos > 0) return output.pos;
    }
  }

 private:
  [[noreturn]] void refuse_window() const {
    throw DataError(name_.string() + ": a zstd frame needs a larger window than can be had here; compress the file " +
                    "with level 19 or below and without --long");
  }

  bool refill() {
    const std::size_t got = compressed_->read(buffer_);
    if (got == 0 && inside_frame_) {
      throw DataError(name_.string() + ": the zstd data is cut short; " + std::string(kFetchAgain));
    }
    input_ = {buffer_.data(), got, 0};
    return got > 0;
  }

  std::unique_ptr<RawBytes> compressed_;
  std::filesystem::path name_;
  std::vector<char> buffer_;
  std::shared_ptr<void> memory_;  // for the window
  ZSTD_DStream* stream_ = nullptr;
  ZSTD_inBuffer input_ = {nullptr, 0, 0};
  bool inside_frame_ = true;
  bool unflushed_ = false;  // the decoder may hold output although its input is used up
};

}  // namespace

std::size_t MadeBytes::read(std::span<char> out) {
  if (given_ == text_.size()) {
    text_.clear();
    given_ = 0;
    make(text_);
  }
  const std::size_t count = std::min(out.size(), text_.size() - given_);
  std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(given_), count, out.begin());
  given_ += count;
  return count;
}

void RawBytes::skip(std::uint64_t count) {
  std::vector<char> scratch(static_cast<std::size_t>(std::min<std::uint64_t>(count, kCompressedBuffer)));
  while (count > 0) {
    const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(count, scratch.size()));
    const std::size_t got = read(std::span(scratch).first(piece));
    if (got == 0) return;
    count -= got;
  }
}

OpenedFile open_plain_bytes(const std::filesystem::path& path) {
  auto file = std::make_unique<FileBytes>(path);
  OpenedFile opened;
  opened.head = file->fetch_head(4);
  opened.regular = file->regular();
  opened.bytes = std::move(file);
  return opened;
}

std::unique_ptr<RawBytes> open_gzip_bytes(std::unique_ptr<RawBytes> compressed, const std::filesystem::path& name) {
  return std::make_unique<GzipBytes>(std::move(compressed), name);
}

std::unique_ptr<RawBytes> open_zstd_bytes(std::unique_ptr<RawBytes> compressed, const std::filesystem::path& name,
                                          const ChargeReader& charge) {
  return std::make_unique<ZstdBytes>(std::move(compressed), name, charge);
}

}  // namespace unweave
