// algorithms/synthetic/citation.h - a synthetic citation graph with the counts of ogbn-papers100M,
// each paper's list of references computed from the paper alone.
//
// What the model is. A reference goes to the citing paper's topic, to its subject, or anywhere, and
// always to an earlier paper, so no two papers cite each other. Within such a scope the cited paper
// is a recent one, or drawn by fame: first a neighbourhood of 32 papers, by a power of its rank in
// a hidden order, which gives in-degrees their heavy tail; then one of the 32, by a log-normal law.
// Some references are copied from a paper already cited, which closes triangles. The number of
// references follows the arXiv's high-energy physics graphs (cit-HepPh, cit-HepTh), scaled to the
// mean asked for; so do, by choice of the constants in citation.cpp, the quantiles of the
// in-degrees. Ids say nothing: they are a random order of the papers.
// What it is not. In-degrees, subjects, topics, labels and features of the real data were not
// fitted, since they are not published. Subjects and topics differ in size alone, none is nearer to
// one than to another, and all span the same time; references do not grow with the years; no two
// papers cite each other, where 0.1 to 0.3 % of real citations do.
//
// sources  Price, A general theory of bibliometric and other cumulative advantage processes, JASIS
// 27 (1976), for
//          cumulative advantage; Kleinberg, Kumar, Raghavan, Rajagopalan, Tomkins, The web as a
//          graph, COCOON 1999, and Krapivsky, Redner, Network growth by copying, Phys. Rev. E 71
//          (2005), for copying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/random/permutation.h"
#include "algorithms/synthetic/citation_layout.h"
#include "storage/io/types.h"

namespace unweave {

/// A labelled node; its label is a subject.
struct LabelledPaper {
  NodeId node;
  std::uint32_t subject;
};

/// Immutable; any number of threads at once. Memory: the subjects.
class CitationModel {
 public:
  static constexpr NodeId kPapers = 111'059'956;              ///< papers of ogbn-papers100M
  static constexpr std::uint64_t kCitations = 1'615'685'872;  ///< citations of ogbn-papers100M
  static constexpr std::uint32_t kSubjects = 172;             ///< classes of ogbn-papers100M
  static constexpr std::uint64_t kLabelled = 1'546'782;       ///< papers with a label
  static constexpr std::uint64_t kTrain = 1'207'179;          ///< labelled papers for training, the oldest
  static constexpr std::uint64_t kValid = 125'265;            ///< labelled papers for validation, the next ones

  static constexpr std::uint64_t kMostReferences = 4096;  ///< references a paper, on average

  /// `papers` >= 1 and exactly `citations` references, of which a few repeat each other where
  /// topics are small. Goes over all papers two or three times, on all threads. Throws UsageError
  /// for more than kMostReferences a paper, more than 65,536 subjects, and where no paper could
  /// cite another one.
  CitationModel(NodeId papers, std::uint64_t citations, std::uint32_t subjects, std::uint64_t seed);

  [[nodiscard]] const CitationLayout& layout() const noexcept { return layout_; }
  /// The id of the paper at a place.
  [[nodiscard]] NodeId node_at(std::uint64_t place) const noexcept { return static_cast<NodeId>(ids_.at(place)); }
  [[nodiscard]] Paper paper(NodeId node) const noexcept { return layout_.at(ids_.place_of(node)); }
  /// Number of references; the oldest paper of a topic has none.
  [[nodiscard]] std::uint64_t degree(const Paper& paper) const noexcept;
  /// The places that a paper cites, all before it; none twice unless several draws in a row gave
  /// nothing new.
  void cite(const Paper& paper, std::vector<std::uint64_t>& cited) const;
  /// Appends the citations of the papers at places [first, last) as edges citing -> cited, in node
  /// ids.
  void append_edges(std::uint64_t first, std::uint64_t last, std::vector<Edge>& edges) const;

  /// kLabelled of every kPapers papers, oldest first, each subject with its share: most papers of a
  /// few topics of every subject, above all those with fame and references. (The labelled papers of
  /// ogbn-papers100M are those on arXiv, which holds most papers of some topics and none of
  /// others.)
  [[nodiscard]] std::vector<LabelledPaper> labelled() const;

 private:
  [[nodiscard]] std::uint64_t drawn_degree(const Paper& paper, double scale) const noexcept;
  [[nodiscard]] std::uint64_t degree_sum(double scale) const;
  [[nodiscard]] std::uint64_t ranked(const Paper& paper, std::uint64_t member, std::uint64_t rank) const noexcept;
  [[nodiscard]] std::uint64_t settle(const Paper& paper, std::uint64_t member, std::uint64_t older,
                                     std::uint64_t bits) const noexcept;
  [[nodiscard]] std::uint64_t draw(const Paper& paper, std::uint64_t bits) const noexcept;
  [[nodiscard]] std::uint64_t draw_in_topic(const Paper& paper, std::uint64_t bits) const noexcept;
  [[nodiscard]] std::uint64_t draw_between(const Paper& paper, std::uint64_t first, std::uint64_t papers,
                                           std::uint64_t stride, std::uint64_t bits) const noexcept;
  [[nodiscard]] std::uint64_t copy(const Paper& paper, std::uint64_t place, std::uint64_t bits) const noexcept;

  CitationLayout layout_;
  Permutation ids_;
  std::uint64_t degree_key_;
  std::uint64_t reference_key_;
  std::uint64_t fame_key_;
  std::uint64_t label_key_;
  std::vector<std::uint64_t> strides_;  // fame_stride of each subject, and of all papers
  double scale_ = 0;                    // references a paper, in units of the arXiv's
  // What drawn_degree leaves over: so many references more for every citing paper, and one more for
  // so many of them.
  std::uint64_t missing_ = 0;
  std::uint64_t missing_rest_ = 0;
};

}  // namespace unweave
