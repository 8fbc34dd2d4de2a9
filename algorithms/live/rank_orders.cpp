// algorithms/live/rank_orders.cpp - packs orders and their requests into bytes, and back.
#include "algorithms/live/rank_orders.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace unweave {
namespace {

/// The ranks are of one program on machines of one kind, so that values go as they lie in memory.
struct OrderHead {
  std::uint64_t bytes = 0;  ///< how many follow
  std::uint64_t requests = 0;
  RankOrder::Step step = RankOrder::Step::end;
  bool defer = false;
  Plan plan = Plan::automatic;
};

struct RequestHead {
  std::uint64_t u = 0, v = 0;
  std::uint32_t id_bytes = 0, value_bytes = 0;
  RequestKind kind = RequestKind::remove_edge;
  bool known = false;
  bool u_by_name = false, v_by_name = false;
};

template <class T>
void put(std::vector<std::byte>& out, const T* values, std::size_t count) {
  const auto bytes = std::as_bytes(std::span(values, count));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void take(std::span<const std::byte>& in, T* values, std::size_t count) {
  if (count > 0) std::memcpy(values, in.data(), count * sizeof(T));
  in = in.subspan(count * sizeof(T));
}

}  // namespace

void tell_order(Ranks& ranks, const RankOrder& order) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < order.requests.size(); ++i) {
    const Request& request = order.requests[i];
    const RequestHead head{request.u,
                           request.v,
                           static_cast<std::uint32_t>(request.id.size()),
                           static_cast<std::uint32_t>(request.value.size()),
                           request.kind,
                           order.known[i],
                           request.u_by_name,
                           request.v_by_name};
    put(bytes, &head, 1);
    put(bytes, request.id.data(), request.id.size());
    put(bytes, request.value.data(), request.value.size());
  }
  OrderHead head{bytes.size(), order.requests.size(), order.step, order.defer, order.plan};
  ranks.broadcast(std::as_writable_bytes(std::span(&head, 1)));
  if (!bytes.empty()) ranks.broadcast(bytes);
}

RankOrder hear_order(Ranks& ranks) {
  OrderHead head;
  ranks.broadcast(std::as_writable_bytes(std::span(&head, 1)));
  std::vector<std::byte> bytes(head.bytes);
  if (!bytes.empty()) ranks.broadcast(bytes);
  RankOrder order{head.step, head.defer, head.plan};
  std::span<const std::byte> left(bytes);
  for (std::uint64_t i = 0; i < head.requests; ++i) {
    RequestHead one;
    take(left, &one, 1);
    Request& request =
        order.requests.emplace_back(Request{one.kind, one.u, one.v, std::string(one.id_bytes, '\0'),
                                            std::string(one.value_bytes, '\0'), one.u_by_name, one.v_by_name});
    take(left, request.id.data(), request.id.size());
    take(left, request.value.data(), request.value.size());
    order.known.push_back(one.known);
  }
  return order;
}

}  // namespace unweave
