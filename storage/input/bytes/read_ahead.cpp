// storage/input/bytes/read_ahead.cpp - a stream that a thread of its own reads ahead, so that
// decompression and the parsing of what comes out of it overlap.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "storage/input/bytes/raw_bytes.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{512} << 10;

/// Two buffers: the thread fills one while the other is emptied.
class ReadAheadBytes final : public RawBytes {
 public:
  explicit ReadAheadBytes(std::unique_ptr<RawBytes> source) : source_(std::move(source)) {
    try {
      thread_ = std::thread([this] { fill_buffers(); });
    } catch (const std::system_error&) {
      throw ResourceError("the system gives no thread for reading ahead; end other programs");
    }
  }
  ~ReadAheadBytes() override {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::size_t read(std::span<char> out) override {
    Buffer& buffer = buffers_[reading_];
    if (!wait_until_full(buffer)) return 0;
    const std::size_t count = std::min(out.size(), buffer.filled - given_);
    std::memcpy(out.data(), buffer.bytes.data() + given_, count);
    given_ += count;
    if (given_ == buffer.filled) release(buffer);
    return count;
  }

 private:
  struct Buffer {
    std::vector<char> bytes = std::vector<char>(kBufferBytes);
    std::size_t filled = 0;  // the buffer is the reader's while this is above 0, else the thread's
  };

  /// False at the end of the stream.
  bool wait_until_full(const Buffer& buffer) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return buffer.filled > 0 || ended_; });
    if (buffer.filled > 0) return true;
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }

  void release(Buffer& buffer) {
    {
      const std::scoped_lock lock(mutex_);
      buffer.filled = 0;
    }
    changed_.notify_all();
    given_ = 0;
    reading_ = 1 - reading_;
  }

  void fill_buffers() {
    std::exception_ptr failure;
    try {
      for (std::size_t filling = 0;; filling = 1 - filling)
        if (!fill(buffers_[filling])) break;
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::scoped_lock lock(mutex_);
      failure_ = failure;
      ended_ = true;
    }
    changed_.notify_all();
  }

  /// False at the end of the stream, or when nobody wants more.
  bool fill(Buffer& buffer) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return buffer.filled == 0 || stop_; });
      if (stop_) return false;
    }
    const std::size_t got = source_->read(buffer.bytes);
    {
      const std::scoped_lock lock(mutex_);
      buffer.filled = got;
    }
    changed_.notify_all();
    return got > 0;
  }

  std::unique_ptr<RawBytes> source_;
  std::array<Buffer, 2> buffers_;
  std::size_t reading_ = 0;
  std::size_t given_ = 0;  // bytes of the buffer that is being read
  std::mutex mutex_;       // guards what follows and Buffer::filled
  std::condition_variable changed_;
  bool ended_ = false;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<RawBytes> read_ahead(std::unique_ptr<RawBytes> source) {
  return std::make_unique<ReadAheadBytes>(std::move(source));
}

}  // namespace unweave
