// algorithms/synthetic/citation.cpp - draws the references of a paper by topic, subject, age and
// fame.
#include "algorithms/synthetic/citation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string>
#include <unordered_set>

#include "algorithms/random/counter_random.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint32_t kMostSubjects = 1 << 16;

// Shares in 256ths.
constexpr std::uint64_t kCopied = 140;    // references after the first kDrawn that are copied
constexpr std::uint64_t kInTopic = 136;   // other references that stay in the paper's topic
constexpr std::uint64_t kInSubject = 56;  // other references that stay in its subject; the rest go anywhere
constexpr std::uint64_t kRecent = 80;     // references in the topic that go by age alone

// Powers of power_rank: a law of fame whose tail index is power / (power - 1).
constexpr int kTopicPower = 4;
constexpr int kWidePower = 3;

/// How many of kSlots draws among kBlock papers fall on the most famous one, the next one, and so
/// on: a log-normal law, whose logarithm has deviation 1.3, by its quantiles.
constexpr std::uint64_t kBlock = 32;
constexpr std::uint64_t kSlots = 1024;
constexpr std::array<std::uint16_t, kBlock> kBlockSlots = {243, 130, 94, 73, 60, 50, 44, 38, 33, 30, 26,
                                                           23,  22,  19, 17, 15, 15, 12, 12, 10, 9,  8,
                                                           8,   6,   6,  5,  4,  4,  3,  2,  2,  1};
static_assert(std::accumulate(kBlockSlots.begin(), kBlockSlots.end(), std::uint64_t{0}) == kSlots);

constexpr std::array<std::uint8_t, kSlots> slot_ranks() noexcept {
  std::array<std::uint8_t, kSlots> ranks{};
  std::size_t slot = 0;
  for (std::size_t rank = 0; rank < kBlock; ++rank)
    for (std::size_t end = slot + kBlockSlots[rank]; slot < end; ++slot) ranks[slot] = static_cast<std::uint8_t>(rank);
  return ranks;
}
constexpr std::array<std::uint8_t, kSlots> kSlotRanks = slot_ranks();

constexpr std::uint64_t kDrawn = 4;      // first references, never copied ones
constexpr std::uint64_t kAttempts = 8;   // at a reference that is not on the list yet
constexpr std::size_t kCompared = 1024;  // references that a new one is compared with
constexpr std::size_t kGrain = std::size_t{1} << 14;

/// References of a paper by quantile: the mean of cit-HepPh's and cit-HepTh's up to 99.9 %, then on
/// like a log-normal law. Linear in between.
struct Quantile {
  double part;
  double references;
};
constexpr std::array<Quantile, 12> kReferences = {{{0, 0},
                                                   {0.085, 0.5},
                                                   {0.25, 2.5},
                                                   {0.5, 8},
                                                   {0.75, 17},
                                                   {0.9, 29.5},
                                                   {0.99, 66.5},
                                                   {0.999, 152},
                                                   {0.9999, 260},
                                                   {0.99999, 430},
                                                   {0.999999, 700},
                                                   {1, 1000}}};

std::uint32_t checked_subjects(std::uint32_t subjects) {
  if (subjects > kMostSubjects)
    throw UsageError(option("classes", std::to_string(subjects)) + ": a citation graph has at most " +
                     std::to_string(kMostSubjects));
  return subjects;
}

double references_at(double part) noexcept {
  std::size_t i = 1;
  while (kReferences[i].part < part) ++i;
  const Quantile& low = kReferences[i - 1];
  const Quantile& high = kReferences[i];
  return low.references + (high.references - low.references) * ((part - low.part) / (high.part - low.part));
}

double mean_references() noexcept {
  double sum = 0;
  for (std::size_t i = 1; i < kReferences.size(); ++i)
    sum += (kReferences[i].part - kReferences[i - 1].part) *
           (kReferences[i].references + kReferences[i - 1].references) / 2;
  return sum;
}

/// A number coprime to `papers` near its golden section: the ranks r -> r * stride modulo papers
/// lie far apart.
std::uint64_t fame_stride(std::uint64_t papers) noexcept {
  std::uint64_t stride = std::max<std::uint64_t>(1, papers * 618 / 1000);
  while (papers > 0 && std::gcd(stride, papers) != 1) ++stride;
  return stride;
}

/// A number in [0, papers) from random bits, small ones more often: its part of `papers` is a
/// uniform number to a power.
std::uint64_t power_rank(std::uint64_t bits, int power, std::uint64_t papers) noexcept {
  std::uint64_t part = bits;
  for (int i = 1; i < power; ++i) part = bits_below(part, bits);
  return bits_below(part, papers);
}

}  // namespace

CitationModel::CitationModel(NodeId papers, std::uint64_t citations, std::uint32_t subjects, std::uint64_t seed)
    : layout_(papers, checked_subjects(subjects)),
      ids_(papers, random_key(seed, 7)),
      degree_key_(random_key(seed, 8)),
      reference_key_(random_key(seed, 9)),
      fame_key_(random_key(seed, 10)),
      label_key_(random_key(seed, 11)) {
  for (std::uint32_t s = 0; s < layout_.subjects(); ++s) strides_.push_back(fame_stride(layout_.subject_papers(s)));
  strides_.push_back(fame_stride(papers));
  const std::uint64_t citing = layout_.papers() - layout_.topics();
  if (citations / papers > kMostReferences)
    throw UsageError(option("edges", std::to_string(citations)) + ": a citation graph has at most " +
                     std::to_string(kMostReferences) + " edges a node");
  if (citations == 0) return;
  if (citing == 0)
    throw UsageError(std::to_string(papers) + " papers in " + std::to_string(subjects) +
                     " subjects: no paper has an earlier one to cite; take more nodes or fewer classes");
  // The sum of the degrees as drawn nears the number asked for from below; degree() hands out what
  // is missing.
  scale_ = static_cast<double>(citations) / (static_cast<double>(citing) * mean_references());
  std::uint64_t sum = degree_sum(scale_);
  if (sum > 0) scale_ *= static_cast<double>(citations) / static_cast<double>(sum) * 0.9998;
  for (sum = degree_sum(scale_); sum > citations; sum = degree_sum(scale_)) scale_ *= 0.9998;
  missing_ = (citations - sum) / citing;
  missing_rest_ = (citations - sum) % citing;
}

std::uint64_t CitationModel::drawn_degree(const Paper& paper, double scale) const noexcept {
  if (paper.member == 0) return 0;
  const std::uint64_t bits = random_bits(degree_key_, paper.place);
  const double part = static_cast<double>(bits >> 32) * 0x1p-32;
  // Rounded up or down at random, so that the scale changes the mean evenly.
  return static_cast<std::uint64_t>(scale * references_at(part) + static_cast<double>(bits & 0xFFFF'FFFF) * 0x1p-32);
}

std::uint64_t CitationModel::degree_sum(double scale) const {
  return ordered_sum(layout_.papers(), kGrain, std::uint64_t{0}, [&](std::size_t first, std::size_t last) {
    std::uint64_t sum = 0;
    Paper paper = layout_.at(first);
    for (std::uint64_t place = first; place < last; ++place) {
      paper = place - paper.first() < paper.size ? paper.sibling(place - paper.first()) : layout_.at(place);
      sum += drawn_degree(paper, scale);
    }
    return sum;
  });
}

std::uint64_t CitationModel::degree(const Paper& paper) const noexcept {
  if (paper.member == 0) return 0;
  const std::uint64_t citing = layout_.papers() - layout_.topics();
  const std::uint64_t index = paper.place - paper.topic - 1;  // among the papers that are not the oldest of a topic
  const auto before = [&](std::uint64_t i) { return missing_rest_ * i / citing; };
  return drawn_degree(paper, scale_) + missing_ + before(index + 1) - before(index);
}

/// A member with this rank among kBlock members of a topic, of which `member` is one.
std::uint64_t CitationModel::ranked(const Paper& paper, std::uint64_t member, std::uint64_t rank) const noexcept {
  const std::uint64_t start = member & ~(kBlock - 1);
  const std::uint64_t order = random_bits(fame_key_, paper.first() + start);
  return start + ((rank * (order | 1) + (order >> 32)) & (kBlock - 1));
}

/// A paper of the paper's topic near `member` < `older`, by fame among its block, before member
/// `older`.
std::uint64_t CitationModel::settle(const Paper& paper, std::uint64_t member, std::uint64_t older,
                                    std::uint64_t bits) const noexcept {
  const std::uint64_t near = ranked(paper, member, kSlotRanks[bits >> 54]);
  return paper.first() + (near < older ? near : member);
}

std::uint64_t CitationModel::draw_in_topic(const Paper& paper, std::uint64_t bits) const noexcept {
  const std::uint64_t other = mix64(bits + kGoldenRatio);
  if ((bits & 0xFF) >= kRecent) {
    constexpr std::uint64_t kStride = 65'537;  // a prime larger than any topic
    const std::uint64_t offset = bits_below(random_bits(fame_key_, ~paper.topic), paper.size);
    const std::uint64_t member = (power_rank(bits, kTopicPower, paper.size) * kStride + offset) % paper.size;
    if (member < paper.member) return settle(paper, member, paper.member, other);
  }
  // A recent one: the logarithm of its age is about uniform.
  const auto widths = static_cast<std::uint64_t>(std::bit_width(paper.member));
  const std::uint64_t range = std::min(paper.member, std::uint64_t{2} << bits_below(other, widths));
  const std::uint64_t more = mix64(other);
  return settle(paper, paper.member - 1 - bits_below(more, range), paper.member, mix64(more));
}

/// An earlier paper among the `papers` from place `first` on.
std::uint64_t CitationModel::draw_between(const Paper& paper, std::uint64_t first, std::uint64_t papers,
                                          std::uint64_t stride, std::uint64_t bits) const noexcept {
  const std::uint64_t offset = bits_below(random_bits(fame_key_, ~first), papers);
  const Paper cited = layout_.at(first + (power_rank(bits, kWidePower, papers) * stride + offset) % papers);
  const std::uint64_t older = cited.members_before(paper);
  const std::uint64_t other = mix64(bits + kGoldenRatio);
  if (older == 0) return draw_in_topic(paper, other);
  // One that is too young stands for an earlier one of its topic.
  return settle(cited, cited.member < older ? cited.member : cited.member * older / cited.size, older, other);
}

std::uint64_t CitationModel::draw(const Paper& paper, std::uint64_t bits) const noexcept {
  const std::uint64_t scope = bits >> 8 & 0xFF;
  const std::uint64_t other = mix64(bits + kGoldenRatio);
  if (scope < kInTopic) return draw_in_topic(paper, other);
  if (scope < kInTopic + kInSubject)
    return draw_between(paper, layout_.subject_first(paper.subject), layout_.subject_papers(paper.subject),
                        strides_[paper.subject], other);
  return draw_between(paper, 0, layout_.papers(), strides_.back(), other);
}

/// One of the references that the paper at `place`, which `paper` cites already, draws first if it
/// has so many.
std::uint64_t CitationModel::copy(const Paper& paper, std::uint64_t place, std::uint64_t bits) const noexcept {
  const std::uint64_t local = place - paper.first();  // wraps around for an earlier place
  const Paper source = local < paper.size ? paper.sibling(local) : layout_.at(place);
  if (source.member == 0) return draw(paper, bits);
  return draw(source, random_bits(random_bits(reference_key_, place), bits_below(bits, kDrawn)));
}

void CitationModel::cite(const Paper& paper, std::vector<std::uint64_t>& cited) const {
  cited.clear();
  const std::uint64_t references = degree(paper);
  const std::uint64_t key = random_bits(reference_key_, paper.place);
  for (std::uint64_t i = 0; i < references; ++i) {
    std::uint64_t place = 0;
    bool known = true;
    for (std::uint64_t attempt = 0; known && attempt < kAttempts; ++attempt) {
      const std::uint64_t bits = random_bits(key, attempt << 56 | i);
      const bool copies = i >= kDrawn && (bits & 0xFF) < kCopied;
      place = copies ? copy(paper, cited[bits_below(bits, i)], mix64(bits)) : draw(paper, bits);
      const std::size_t compared = std::min(cited.size(), kCompared);
      known = std::find(cited.end() - static_cast<std::ptrdiff_t>(compared), cited.end(), place) != cited.end();
    }
    cited.push_back(place);
  }
}

void CitationModel::append_edges(std::uint64_t first, std::uint64_t last, std::vector<Edge>& edges) const {
  if (first >= last) return;
  std::vector<std::uint64_t> cited;
  Paper paper = layout_.at(first);
  for (std::uint64_t place = first; place < last; ++place) {
    paper = place - paper.first() < paper.size ? paper.sibling(place - paper.first()) : layout_.at(place);
    cite(paper, cited);
    const NodeId node = node_at(place);
    for (const std::uint64_t one : cited) edges.push_back({node, node_at(one)});
  }
}

std::vector<LabelledPaper> CitationModel::labelled() const {
  struct Candidate {
    Paper paper;
    NodeId node;
  };
  std::vector<Candidate> chosen;
  const auto due = [&](std::uint64_t papers) {
    return static_cast<std::uint64_t>(UInt128{papers} * kLabelled / kPapers);
  };
  for (std::uint32_t s = 0; s < layout_.subjects(); ++s) {
    const std::uint64_t topics = layout_.subject_topics(s);
    const std::uint64_t quota = due(layout_.subject_first(s + std::uint64_t{1})) - due(layout_.subject_first(s));
    if (quota == 0) continue;
    // From a topic on that is not much larger than the quota.
    const std::uint64_t starts = std::clamp<std::uint64_t>(topics * quota / CitationLayout::kTopicPapers, 1, topics);
    const std::uint64_t start = bits_below(random_bits(label_key_, s), starts);
    std::unordered_set<std::uint64_t> found;
    // The second turn takes what the first one passed over, so the quota is met whatever the draws.
    for (const bool all : {false, true}) {
      for (std::uint64_t i = 0; i < topics && found.size() < quota; ++i) {
        const Paper oldest = layout_.oldest(s, (start + i) % topics);
        // What is missing comes from all ages of the last topic.
        const double share =
            std::min(1.0, 1.5 * static_cast<double>(quota - found.size()) / static_cast<double>(oldest.size));
        for (std::uint64_t slot = 0; slot < oldest.size + kBlock && found.size() < quota; ++slot) {
          const std::uint64_t rank = slot % kBlock;
          const std::uint64_t member = ranked(oldest, slot, rank);
          if (member >= oldest.size) continue;
          const Paper paper = oldest.sibling(member);
          const double fame = 1 - 0.9 * static_cast<double>(rank) / kBlock;
          const double references = std::min(1.0, 0.2 + 0.08 * static_cast<double>(degree(paper)));
          const double draw = static_cast<double>(random_bits(~label_key_, paper.place) >> 32) * 0x1p-32;
          if (!all && draw >= share * fame * references) continue;
          if (found.insert(paper.place).second) chosen.push_back({paper, node_at(paper.place)});
        }
      }
    }
  }
  std::sort(chosen.begin(), chosen.end(), [](const Candidate& a, const Candidate& b) {
    if (a.paper.before(b.paper)) return true;
    return !b.paper.before(a.paper) && a.node < b.node;
  });
  std::vector<LabelledPaper> papers;
  papers.reserve(chosen.size());
  for (const Candidate& one : chosen) papers.push_back({one.node, one.paper.subject});
  return papers;
}

}  // namespace unweave
