// tools/service/http_transport.cpp - connections as small machines of states, on Boost.Asio and the
// parser of Boost.Beast.
#include "tools/service/http_transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "storage/io/error.h"

namespace unweave {

/// What is wrong with a call as such. It goes through the parser's error codes.
enum class CallFault {
  too_many_headers = 1,
  repeated_header,
  bad_length,
  bad_coding,
  large_body,
  large_form,
  no_memory,
  never_memory
};

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Time = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{250};  // how exact times are kept
constexpr std::chrono::milliseconds kDrainTime{
    5'000};  // for a client to take an answer that came before he had sent all
// What a connection without a token has before another one may take its place: to say what it
// wants, or to say more of it, and to take an answer.
constexpr std::chrono::milliseconds kFresh{1'000}, kTaking{5'000};
constexpr std::uint64_t kBodyStep = std::uint64_t{64} << 10;   // in which memory is set aside for a body
constexpr std::uint64_t kSmallCalls = std::uint64_t{1} << 20;  // bytes
constexpr std::uint64_t kForms = std::uint64_t{4} << 20;       // bytes: the largest form from each of 1,024 connections
constexpr std::size_t kAcceptedAtOnce = 64;
constexpr std::uint64_t kStrangerDrain = std::uint64_t{256}
                                         << 10;  // bytes that are read behind the one answer of a connection
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kMostBlank = 256;  // bytes of empty lines before a call

struct CallFaults final : boost::system::error_category {
  [[nodiscard]] const char* name() const noexcept override { return "call"; }
  [[nodiscard]] std::string message(int) const override { return "the call cannot be taken"; }
};

const CallFaults kCallFaults;

error_code code_of(CallFault fault) {
  return {static_cast<int>(fault), kCallFaults};
}

struct FaultText {
  int status;
  const char* what;
};

FaultText fault_text(const error_code& error) {
  if (error.category() == kCallFaults) switch (static_cast<CallFault>(error.value())) {
      case CallFault::too_many_headers:
        return {431, "there are more than 64 headers"};
      case CallFault::repeated_header:
        return {400, "a header stands twice that may stand once"};
      case CallFault::bad_length:
        return {400, "Content-Length is no number, or stands twice"};
      case CallFault::bad_coding:
        return {400, "Transfer-Encoding can be `chunked` alone, by HTTP/1.1 and without Content-Length"};
      case CallFault::large_body:
        return {413, "the body has more than 16 MiB; send it in parts"};
      case CallFault::large_form:
        return {413, "the form has more than 4 KiB"};
      case CallFault::no_memory:
        return {503, "other calls hold the memory that is for calls; send again later"};
      case CallFault::never_memory:
        return {
            413,
            "the call needs more than all the memory that is for calls; send it in parts, or start the service with a larger --memory"};
    }
  if (error == http::error::header_limit) return {431, "the headers have more than 16 KiB"};
  if (error == http::error::bad_version) return {505, "this service speaks HTTP/1.1"};
  if (error == http::error::bad_content_length) return fault_text(code_of(CallFault::bad_length));
  if (error == http::error::bad_transfer_encoding) return fault_text(code_of(CallFault::bad_coding));
  return {400, "the call cannot be read: this is no HTTP"};
}

}  // namespace

/// Reads one call. Keeps of its headers those that matter.
class CallParser final : public http::basic_parser<true> {
 public:
  CallParser(Call& call, const HttpLimits& limits) : call_(call), limits_(limits), most_body_(limits.body_bytes) {
    header_limit(static_cast<std::uint32_t>(limits.head_bytes));
    body_limit(std::numeric_limits<std::uint64_t>::max());  // the head is answered for first; see take()
  }

  [[nodiscard]] bool is_1_1() const noexcept { return is_1_1_; }
  /// The body is a form of at most so many bytes.
  void expect_form(std::uint64_t most) noexcept {
    most_body_ = most;
    too_large_ = CallFault::large_form;
  }
  /// Refuses a body that can never be taken, as far as its length is said. Memory is set aside for
  /// what has come: who says that much will come, and sends nothing, takes it from nobody.
  void expect_body(error_code& error) {
    const std::uint64_t length = content_length().value_or(0);
    if (length > most_body_)
      error = code_of(too_large_);
    else if (!call_.memory.can_hold(length))
      error = code_of(CallFault::never_memory);
    else
      call_.body.reserve(length);  // pages that nobody has written to take no memory
  }

 private:
  /// `grows`: the body moves to a larger place, and lies in both meanwhile.
  void set_aside(std::uint64_t bytes, bool grows, error_code& error) {
    try {
      call_.memory.cover(bytes + (grows ? call_.body.size() : 0));
      if (grows) call_.body.reserve(bytes);
    } catch (const ResourceError&) {
      error = code_of(call_.memory.is_too_large() ? CallFault::never_memory : CallFault::no_memory);
    }
  }

  std::size_t take(beast::string_view data, error_code& error) {
    if (data.size() > most_body_ - call_.body.size()) error = code_of(too_large_);
    const std::uint64_t size = call_.body.size() + data.size();
    if (!error && size > call_.body.capacity())  // in chunks, whose number nobody knows
      set_aside(2 * size, true, error);
    else if (!error)
      set_aside(
          std::min((size / kBodyStep + 1) * kBodyStep, std::max<std::uint64_t>(size, content_length().value_or(0))),
          false, error);
    if (error) return 0;
    call_.body.append(data.data(), data.size());
    return data.size();
  }

  void on_request_impl(http::verb, beast::string_view method, beast::string_view target, int version,
                       error_code&) override {
    is_1_1_ = version == 11;
    call_.head.method.assign(method.data(), method.size());
    call_.head.target.assign(target.data(), target.size());
  }

  void on_field_impl(http::field name, beast::string_view text, beast::string_view value, error_code& error) override {
    if (++headers_ > limits_.headers) error = code_of(CallFault::too_many_headers);
    if (error || head_is_read_) return;
    std::optional<std::string>* place = nullptr;
    switch (name) {
      case http::field::host:
        place = &call_.head.host;
        break;
      case http::field::origin:
        place = &call_.head.origin;
        break;
      case http::field::authorization:
        place = &call_.head.authorization;
        break;
      case http::field::cookie:
        place = &call_.head.cookie;
        break;
      case http::field::content_type:
        place = &call_.head.content_type;
        break;
      case http::field::expect:
        place = &call_.head.expect;
        break;
      case http::field::content_length:
        // The parser takes a list of equal lengths for one.
        if (std::exchange(has_length_, true) || value.find(',') != beast::string_view::npos)
          error = code_of(CallFault::bad_length);
        return;
      case http::field::transfer_encoding:
        // The parser ignores a coding that is not `chunked`, and what follows would be taken for
        // another call.
        if (!is_1_1_ || !beast::iequals(value, "chunked")) error = code_of(CallFault::bad_coding);
        return;
      default:
        if (!beast::iequals(text, "Sec-Fetch-Site")) return;
        place = &call_.head.fetch_site;
    }
    if (*place) error = code_of(CallFault::repeated_header);
    place->emplace(value.data(), value.size());
  }

  void on_header_impl(error_code&) override {
    head_is_read_ = true;
    call_.head.has_body = has_length_ ? content_length().value_or(0) > 0 : chunked();
  }

  std::size_t on_body_impl(beast::string_view data, error_code& error) override { return take(data, error); }
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view data, error_code& error) override {
    return take(data, error);
  }
  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  Call& call_;
  const HttpLimits& limits_;
  std::uint64_t most_body_;
  CallFault too_large_ = CallFault::large_body;
  std::size_t headers_ = 0;
  bool is_1_1_ = true, has_length_ = false, head_is_read_ = false;
};

/// The limits, where the system lets this process have so many descriptors: asks for more of them,
/// within what its user may have.
static HttpLimits within_descriptors(HttpLimits limits) {
  constexpr rlim_t kOthers = 512;  // files of the store and of readers
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return limits;
  const rlim_t wanted = limits.connections + kOthers;
  if (descriptors.rlim_cur < wanted) {
    descriptors.rlim_cur = std::min(wanted, descriptors.rlim_max);
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &descriptors));
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return limits;
  }
  if (descriptors.rlim_cur >= wanted) return limits;
  limits.connections = std::max<std::size_t>(descriptors.rlim_cur / 2, 1);
  limits.newcomers = std::min(limits.newcomers, limits.connections / 2);
  return limits;
}

struct HttpTransport::Impl {
  using Socket = asio::generic::stream_protocol::socket;
  class Connection;

  Impl(int listening, MemoryBudget& shared, Calls how, const HttpLimits& most)
      : memory(shared), calls(std::move(how)), limits(within_descriptors(most)), workers(most.threads) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    static_cast<void>(::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length));
    is_tcp = address.ss_family != AF_UNIX;
    acceptor.assign(asio::generic::stream_protocol(address.ss_family, is_tcp ? IPPROTO_TCP : 0), listening);
    acceptor.non_blocking(true);
  }

  void accept();
  void accept_next();
  [[nodiscard]] bool somebody_waits();
  void take(Socket socket);
  void tick();
  [[nodiscard]] bool make_room();

  MemoryBudget& memory;
  MemoryBudget small_calls{kSmallCalls}, forms{kForms};
  const Calls calls;
  const HttpLimits limits;
  bool is_tcp = false;
  std::atomic<bool> ends = false;
  Time::time_point end{};  ///< when the last connection is closed, whatever it does
  bool is_accepting = false;
  std::array<std::size_t, kLanes> calls_in{};  ///< calls of each lane that are answered, or wait for it
  asio::io_context io{1};
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor{io};
  asio::steady_timer clock{io};
  std::set<std::shared_ptr<Connection>> connections;
  [[nodiscard]] asio::thread_pool& workers_of(Lane lane) noexcept {
    return lane == Lane::quick ? workers : lane == Lane::look_ups ? looks_up : predicts;
  }
  asio::thread_pool workers, looks_up{1}, predicts{1};  // last: they end first
};

/// All of it but answer() runs on the thread of run(). Whoever waits for something keeps it alive.
class HttpTransport::Impl::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Impl& transport, Socket socket)
      : all_(transport), socket_(std::move(socket)), buffer_(all_.limits.head_bytes) {}

  enum class State { idle, head, body, answer, write, drain };
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool known_caller() const noexcept { return known_caller_; }
  [[nodiscard]] Time::time_point since() const noexcept { return since_; }

  void start() {
    enter(State::head, all_.limits.head_time);
    next_call();
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
    all_.connections.erase(shared_from_this());
    if (!all_.is_accepting) all_.accept();
  }

  /// Its time is up.
  void look_at_time(Time::time_point now) {
    if (now < deadline_) return;
    if (state_ != State::head || filled_ == 0) return close();
    error_code ignored;
    socket_.cancel(ignored);
    refuse({408, "the headers have not come in time"});
  }

 private:
  void enter(State state, std::chrono::milliseconds most) {
    state_ = state;
    since_ = Time::now();
    deadline_ = since_ + most;
  }

  void next_call() {
    call_ = Call{{}, {}, CallMemory(all_.memory, all_.small_calls)};
    parser_.emplace(call_, all_.limits);
    scanned_ = blank_ = 0;
    read_head();
  }

  void drop_front(std::size_t bytes) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(bytes),
              buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
    filled_ -= bytes;
  }

  /// Reads what there is behind what is in the buffer, and goes on with `then`.
  template <class Then>
  void read_more(Then then) {
    socket_.async_read_some(asio::buffer(buffer_.data() + filled_, buffer_.size() - filled_),
                            [self = this->shared_from_this(), then](const error_code& error, std::size_t bytes) {
                              if (!self->socket_.is_open() || self->state_ == State::write) return;  // it was too late
                              if (error) return self->close();
                              self->filled_ += bytes;
                              ((*self).*then)();
                            });
  }

  [[nodiscard]] std::string_view in_buffer() const { return {buffer_.data(), filled_}; }

  void read_head() {
    std::size_t blank = 0;  // some clients send empty lines behind a body
    while (in_buffer().substr(blank).starts_with("\r\n")) blank += 2;
    if (blank > 0) {
      drop_front(blank);
      scanned_ = 0;
      blank_ += blank;
    }
    if (blank_ > kMostBlank) return refuse({400, "there are empty lines in the place of a call"});
    if (filled_ == 0) return read_more(&Connection::on_first_bytes);
    // The parser looks at a head when it is whole. What cannot become one is refused at once.
    const std::size_t found = in_buffer().find(kHeadEnd, scanned_ - std::min(scanned_, kHeadEnd.size() - 1));
    const std::size_t stop = std::min(found, filled_);
    for (; scanned_ < stop; ++scanned_)
      if (buffer_[scanned_] == '\n' && (scanned_ == 0 || buffer_[scanned_ - 1] != '\r'))
        return refuse({400, "a line ends without a carriage return"});
    if (found == std::string_view::npos) {
      if (filled_ < buffer_.size()) return read_more(&Connection::read_head);
      if (in_buffer().find('\n') == std::string_view::npos)
        return refuse({414, "the request line has more than 16 KiB"});
      return refuse(fault_text(http::error::header_limit));
    }
    error_code error;
    const std::size_t used = parser_->put(asio::buffer(buffer_.data(), filled_), error);
    if (error || !parser_->is_header_done())
      return refuse(error ? fault_text(error) : fault_text(http::error::bad_value));
    drop_front(used);
    on_head();
  }

  void on_first_bytes() {
    if (state_ == State::idle) enter(State::head, all_.limits.head_time);
    read_head();
  }

  void on_head() {
    const CallHead& head = call_.head;
    const bool is_1_1 = parser_->is_1_1();
    closes_ = !is_1_1 || !parser_->keep_alive();
    if (!head.target.starts_with('/')) return refuse({400, "the target of a call begins with a slash"});
    if (is_1_1 && !head.host) return refuse({400, "the header Host is missing"});
    Admission admission = all_.calls.admit(head);
    known_caller_ |= admission.known_caller;
    lane_ = admission.lane;
    is_last_ = admission.is_last;
    closes_ |= is_last_;
    const bool awaits = is_1_1 && head.expect.has_value();
    if (!admission.refusal && awaits && !beast::iequals(*head.expect, "100-continue"))
      return refuse({417, "of Expect this service knows 100-continue alone"});
    if (admission.refusal) {
      answer_ = *std::move(admission.refusal);
      closes_ |= head.has_body;  // which is not read
      return write();
    }
    const bool is_form = admission.form_bytes > 0;
    if (is_form) {
      parser_->expect_form(admission.form_bytes);
      call_.memory = CallMemory(all_.forms, all_.forms);
    }
    if (parser_->is_done()) return answer();
    error_code error;
    parser_->expect_body(error);
    if (error) return refuse(fault_text(error));
    enter(State::body, is_form ? all_.limits.head_time : all_.limits.body_time);
    parser_->eager(true);
    if (!awaits || filled_ > 0) return read_body();
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(socket_, asio::buffer(kContinue.data(), kContinue.size()),
                      [self = this->shared_from_this()](const error_code& failed, std::size_t) {
                        if (!self->socket_.is_open()) return;
                        if (failed) return self->close();
                        self->read_body();
                      });
  }

  void read_body() {
    error_code error;
    if (filled_ > 0) {
      drop_front(parser_->put(asio::buffer(buffer_.data(), filled_), error));
      if (error == http::error::need_more) error = {};
    }
    if (error) return refuse(fault_text(error));
    if (parser_->is_done()) return answer();
    if (filled_ == buffer_.size())
      return refuse(fault_text(http::error::bad_chunk));  // a line between chunks without an end
    read_more(&Connection::read_body);
  }

  void answer() {
    std::size_t& calls = all_.calls_in[static_cast<std::size_t>(lane_)];
    if (lane_ != Lane::quick && calls >= all_.limits.long_calls) {
      answer_ = all_.calls.fault(503, "many calls of this kind wait already; send again later");
      return write();
    }
    ++calls;
    enter(State::answer, std::chrono::hours(24));
    asio::post(all_.workers_of(lane_), [self = this->shared_from_this()] {
      Answer made;
      try {
        made = self->all_.ends ? self->all_.calls.fault(503, "the service ends and takes no more calls")
                               : self->all_.calls.answer(self->call_);
      } catch (const std::exception&) {
        made = self->all_.calls.fault(500, "the service could not answer this call");
      }
      asio::post(self->all_.io, [self, made = std::move(made)]() mutable {
        --self->all_.calls_in[static_cast<std::size_t>(self->lane_)];
        if (!self->socket_.is_open()) return;
        self->answer_ = std::move(made);
        self->write();
      });
    });
  }

  void refuse(const FaultText& fault) {
    answer_ = all_.calls.fault(fault.status, fault.what);
    closes_ = true;
    write();
  }

  void write() {
    enter(State::write, all_.limits.body_time);
    closes_ |= all_.ends;
    head_text_ = "HTTP/1.1 " + std::to_string(answer_.status) + ' ';
    head_text_ += std::string(http::obsolete_reason(static_cast<http::status>(answer_.status)));
    head_text_ += "\r\nContent-Type: " + answer_.type + "\r\nContent-Length: " + std::to_string(answer_.body.size());
    for (const auto& [name, value] : answer_.headers) head_text_.append("\r\n").append(name).append(": ").append(value);
    if (closes_) head_text_ += "\r\nConnection: close";
    head_text_ += kHeadEnd;
    const bool head_only = call_.head.method == "HEAD";
    const std::array<asio::const_buffer, 2> parts{
        asio::buffer(head_text_), asio::buffer(answer_.body.data(), head_only ? 0 : answer_.body.size())};
    asio::async_write(socket_, parts, [self = this->shared_from_this()](const error_code& error, std::size_t) {
      if (!self->socket_.is_open()) return;
      if (error) return self->close();
      self->answer_ = {};
      if (self->closes_ || self->all_.ends) return self->begin_drain();
      self->enter(self->filled_ == 0 ? State::idle : State::head,
                  self->filled_ == 0 ? self->all_.limits.idle_time : self->all_.limits.head_time);
      self->next_call();
    });
  }

  /// Who has sent more than was read would lose the answer if the socket were closed now.
  void begin_drain() {
    call_ = {};
    enter(State::drain, kDrainTime);
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    drain();
  }

  void drain() {
    drained_ += std::exchange(filled_, 0);
    if (drained_ > (is_last_ ? kStrangerDrain : 2 * all_.limits.body_bytes)) return close();
    read_more(&Connection::drain);
  }

  Impl& all_;
  Socket socket_;
  State state_ = State::head;
  Time::time_point since_{}, deadline_{};
  bool known_caller_ = false, closes_ = false, is_last_ = false;
  Lane lane_ = Lane::quick;
  std::vector<char> buffer_;
  std::size_t filled_ = 0;   ///< bytes of the buffer that are there
  std::size_t scanned_ = 0;  ///< bytes of a head that were looked at
  std::size_t blank_ = 0;    ///< bytes of empty lines before it
  std::uint64_t drained_ = 0;
  Call call_;
  std::optional<CallParser> parser_;
  Answer answer_;
  std::string head_text_;
};

/// Nobody has to go before somebody comes.
void HttpTransport::Impl::accept() {
  is_accepting = !ends;
  if (!is_accepting) return;
  if (connections.size() < limits.connections) return accept_next();
  acceptor.async_wait(asio::socket_base::wait_read, [this](const error_code& error) {
    is_accepting = !error && !ends && (connections.size() < limits.connections || make_room());
    if (is_accepting) accept_next();  // else whoever is closed first goes on, or the next tick
  });
}

void HttpTransport::Impl::accept_next() {
  acceptor.async_accept([this](const error_code& error, Socket socket) {
    is_accepting = false;
    if (error) return;  // no descriptor is left, say: the next tick goes on
    take(std::move(socket));
    // Others that wait come in at once: between two of them lies what all connections have sent
    // meanwhile.
    for (std::size_t i = 0; i < kAcceptedAtOnce && !ends && somebody_waits(); ++i) {
      is_accepting = true;  // whom make_room() closes does not go on with it
      const bool has_room = connections.size() < limits.connections || make_room();
      is_accepting = false;
      if (!has_room) break;
      error_code failed;
      Socket next(io);
      acceptor.accept(next, failed);
      if (failed) break;
      take(std::move(next));
    }
    if (!is_accepting) accept();
  });
}

bool HttpTransport::Impl::somebody_waits() {
  pollfd listening{acceptor.native_handle(), POLLIN, 0};
  return ::poll(&listening, 1, 0) == 1 && (listening.revents & POLLIN) != 0;
}

void HttpTransport::Impl::take(Socket socket) {
  if (is_tcp) {
    const int on = 1;
    static_cast<void>(::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  }
  const auto made = std::make_shared<Connection>(*this, std::move(socket));
  connections.insert(made);
  made->start();
}

/// Closes the connection that others need least, the oldest one of the first kind of which there
/// are some. Among callers who have shown no token: which waits, that is, awaits a call or is
/// closed behind its answer; which sends a body or takes an answer, longer than it is spared; which
/// waits and has just come. Then which awaits a call and has shown one. So whoever comes has the
/// time to show a token, however many others hold connections: where callers with a token idle on
/// more of them than leave HttpLimits::newcomers, one of theirs goes first. False where all are in
/// use.
bool HttpTransport::Impl::make_room() {
  using State = Connection::State;
  const auto waits = [](const Connection& one) {
    return one.state() == State::idle || one.state() == State::head || one.state() == State::drain;
  };
  const auto known = std::count_if(connections.begin(), connections.end(),
                                   [&](const auto& one) { return waits(*one) && one->known_caller(); });
  const bool known_first = static_cast<std::size_t>(known) + limits.newcomers > limits.connections;
  constexpr int kInUse = 5;
  const Time::time_point now = Time::now();
  const auto rank = [&](const Connection& one) {
    if (one.known_caller()) return !waits(one) ? kInUse : known_first ? 0 : 4;
    const auto since = now - one.since();
    if (waits(one)) return since >= kFresh ? 1 : 3;
    if (one.state() == State::body) return since >= kFresh ? 2 : kInUse;
    return one.state() == State::write && since >= kTaking ? 2 : kInUse;
  };
  const auto least = std::min_element(connections.begin(), connections.end(), [&](const auto& a, const auto& b) {
    return std::pair(rank(*a), a->since()) < std::pair(rank(*b), b->since());
  });
  if (least == connections.end() || rank(**least) == kInUse) return false;
  const auto chosen = (*least)->shared_from_this();  // close() takes it out of the list
  chosen->close();                                   // is_accepting: the caller goes on with it
  return true;
}

void HttpTransport::Impl::tick() {
  // Before anything that may fail for want of memory: times are kept whatever happens.
  clock.expires_after(kTick);
  clock.async_wait([this](const error_code& error) {
    if (!error) tick();
  });
  const Time::time_point now = Time::now();
  const std::vector<std::shared_ptr<Connection>> present(connections.begin(), connections.end());
  for (const auto& one : present) {
    const bool is_answered = one->state() == Connection::State::answer || one->state() == Connection::State::write;
    if (ends && (!is_answered || now >= end))
      one->close();
    else
      one->look_at_time(now);
  }
  if (ends && connections.empty()) return io.stop();
  if (!is_accepting) accept();
}

HttpTransport::HttpTransport(int listening, MemoryBudget& memory, Calls calls, const HttpLimits& limits)
    : impl_(std::make_unique<Impl>(listening, memory, std::move(calls), limits)) {}
HttpTransport::~HttpTransport() = default;

void HttpTransport::run() {
  asio::post(impl_->io, [this] { impl_->tick(); });
  while (!impl_->io.stopped()) try {
      impl_->io.run();
    } catch (const std::exception&) {  // without memory for a call its connection is dropped, and the others go on
    }
  impl_->workers.join();
  impl_->looks_up.join();
  impl_->predicts.join();
}

void HttpTransport::stop() {
  impl_->ends = true;
  asio::post(impl_->io, [this] {
    error_code ignored;
    impl_->acceptor.close(ignored);
    impl_->end = Time::now() + impl_->limits.end_time;
    impl_->clock.cancel();
    impl_->tick();
  });
}

bool HttpTransport::ends() const noexcept {
  return impl_->ends;
}

}  // namespace unweave
