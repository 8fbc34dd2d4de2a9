// engine/sweep/graph_stream.cpp - a ring of pieces of a graph's files, and the threads that fill
// it.
#include "engine/sweep/graph_stream.h"

#include <algorithm>
#include <utility>

#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "storage/io/file.h"

namespace unweave {
namespace {

constexpr std::uint64_t kPage = 4096;  // that reads past the page cache consist of
constexpr std::uint64_t kMostSlotBytes = std::uint64_t{16}
                                         << 20;  // pieces with hubs may be longer, and stay in the mapping

static_assert(kMinSpanNodes % (kReadBlocks * kBlockNodes) == 0);  // so that no piece lies in two shards

}  // namespace

std::uint64_t GraphStream::slot_bytes(const Graph& graph) {
  std::uint64_t most = 0;
  for (std::size_t first = 0; first < graph.num_blocks(); first += kReadBlocks) {
    const std::uint64_t bytes = graph.place(first, std::min(graph.num_blocks(), first + kReadBlocks)).bytes;
    if (bytes <= kMostSlotBytes) most = std::max(most, bytes);
  }
  return (most + kPage - 1) / kPage * kPage + kPage;  // a piece begins and ends within a page
}

std::uint64_t GraphStream::bytes(const Graph& graph) {
  return HugeBuffer::charge(kSlots * slot_bytes(graph));
}

GraphStream::GraphStream(const Graph& graph, MemoryBudget& budget)
    : graph_(graph), slot_bytes_(slot_bytes(graph)), memory_(kSlots * slot_bytes_, budget, "pieces of the graph") {
  for (std::size_t i = 0; i < kSlots; ++i) slots_[i].memory = memory_.data() + i * slot_bytes_;
  for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { run(); });
}

GraphStream::~GraphStream() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  given_.notify_all();
}

std::size_t GraphStream::end_of(std::size_t piece) const {
  return std::min(graph_.num_blocks(), (piece + 1) * kReadBlocks);
}

void GraphStream::read_ahead(std::size_t first, std::size_t last) {
  for (std::size_t block = first / kReadBlocks * kReadBlocks; block < last; block += kReadBlocks)
    if (!request(block / kReadBlocks)) graph_.read_ahead(std::max(block, first), std::min(last, block + kReadBlocks));
}

/// False where the piece is to be decoded from the mapping.
bool GraphStream::request(std::size_t piece) {
  const Shard::Place place = graph_.place(piece * kReadBlocks, end_of(piece));
  if (!place.is_checked || place.bytes == 0 || place.bytes > slot_bytes_ - kPage) return false;
  const std::scoped_lock lock(mutex_);
  Slot* room = nullptr;
  for (Slot& slot : slots_) {
    const std::size_t held = slot.piece;
    if (held == piece) return true;
    const bool is_near = held != kNoPiece && held <= piece && held + kPiecesAhead + 1 >= piece;
    if (!is_near && slot.is_read) room = &slot;
  }
  if (room == nullptr) return false;
  room->piece = kNoPiece;
  while (room->users != 0) std::this_thread::yield();  // as long as a block is decoded
  room->is_read = false;
  room->failed = false;
  room->piece = piece;
  requests_.emplace_back(room, piece);
  given_.notify_one();
  return true;
}

void GraphStream::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [&] { return closing_ || !requests_.empty(); });
    if (closing_) return;
    const auto [slot, piece] = requests_.front();
    requests_.pop_front();
    lock.unlock();
    load(*slot, piece);
    slot->is_read = true;
    slot->is_read.notify_all();
  }
}

void GraphStream::load(Slot& slot, std::size_t piece) const {
  try {
    const Shard::Place place = graph_.place(piece * kReadBlocks, end_of(piece));
    slot.file_begin = place.offset / kPage * kPage;
    const std::uint64_t end = place.offset + place.bytes;
    const File file = File::open_direct_to_read(place.file);
    slot.failed = !file.is_open();
    if (slot.failed) return;
    file.read_some_at(slot.file_begin,
                      {slot.memory, static_cast<std::size_t>((end - slot.file_begin + kPage - 1) / kPage * kPage)},
                      static_cast<std::size_t>(end - slot.file_begin));
  } catch (const std::exception&) {
    slot.failed = true;  // the mapping tells what is wrong
  }
}

void GraphStream::forget(std::size_t first, std::size_t last) noexcept {
  for (std::size_t block = first / kReadBlocks * kReadBlocks; block < last; block += kReadBlocks) {
    const auto holds = [&](const Slot& slot) { return slot.piece == block / kReadBlocks; };
    if (last - first <= kReadBlocks && std::any_of(slots_.begin(), slots_.end(), holds)) continue;
    graph_.forget(std::max(block, first), std::min(last, block + kReadBlocks));
  }
}

/// The slot that holds a piece, with the caller counted in; null where there is none.
GraphStream::Slot* GraphStream::take(std::size_t piece) noexcept {
  for (Slot& slot : slots_) {
    if (slot.piece != piece) continue;
    ++slot.users;
    if (slot.piece == piece) {
      slot.is_read.wait(false);
      if (!slot.failed) return &slot;
    }
    --slot.users;
  }
  return nullptr;
}

void GraphStream::decode(std::size_t block, Graph::BlockBuffer& buffer, DecodedBlock& out) {
  Slot* const slot = take(block / kReadBlocks);
  if (slot == nullptr) return graph_.decode(block, buffer, out);
  const Shard::Place place = graph_.place(block, block + 1);
  const std::span<const std::byte> encoded(slot->memory + (place.offset - slot->file_begin),
                                           static_cast<std::size_t>(place.bytes));
  try {
    graph_.decode(block, encoded, buffer, out);
  } catch (...) {
    --slot->users;
    throw;
  }
  --slot->users;
}

BlockSource streamed_source(const Graph& graph, MemoryBudget& budget) {
  BlockSource source = block_source(graph);
  const auto stream = std::make_shared<GraphStream>(graph, budget);
  const auto buffers = std::make_shared<std::vector<Graph::BlockBuffer>>();
  source.make_slots = [buffers](std::size_t count) {
    if (buffers->size() < count) *buffers = std::vector<Graph::BlockBuffer>(count);
  };
  source.decode = [buffers, stream](std::size_t block, std::size_t slot, DecodedBlock& out) {
    stream->decode(block, (*buffers)[slot], out);
  };
  source.read_ahead = [stream](std::size_t first, std::size_t last) { stream->read_ahead(first, last); };
  source.forget = [stream](std::size_t first, std::size_t last) { stream->forget(first, last); };
  return source;
}

}  // namespace unweave
