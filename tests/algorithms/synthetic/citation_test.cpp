// tests/algorithms/synthetic/citation_test.cpp - the citation model: places, ages and ids against
// plain enumerations, and the shape of the graph within generous bands.
#include "algorithms/synthetic/citation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "algorithms/random/permutation.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

std::uint64_t mean_edges(NodeId papers) {
  return std::uint64_t{papers} * CitationModel::kCitations / CitationModel::kPapers;
}

/// Sorted numbers and what is asked of them.
struct Degrees {
  std::vector<std::uint32_t> sorted;

  explicit Degrees(std::vector<std::uint32_t> degrees) : sorted(std::move(degrees)) {
    std::sort(sorted.begin(), sorted.end());
  }
  [[nodiscard]] double quantile(double part) const {
    return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
  }
  /// Part of the sum that the largest `part` of the numbers has.
  [[nodiscard]] double top_share(double part) const {
    const auto count = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
    double top = 0, all = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      all += sorted[i];
      if (i + count >= sorted.size()) top += sorted[i];
    }
    return top / all;
  }
  [[nodiscard]] double zeros() const {
    return static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), 0U) - sorted.begin()) /
           static_cast<double>(sorted.size());
  }
  /// Hill's estimate of the tail index from the largest `part` of the numbers.
  [[nodiscard]] double tail_index(double part) const {
    const auto count = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
    const double least = sorted[sorted.size() - count - 1];
    double sum = 0;
    for (std::size_t i = sorted.size() - count; i < sorted.size(); ++i) sum += std::log(sorted[i] / least);
    return static_cast<double>(count) / sum;
  }
  [[nodiscard]] std::string text() const {
    std::string line;
    for (const double part : {0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0})
      line += std::to_string(std::lround(quantile(part))) + ' ';
    return line + "zero " + std::to_string(zeros()) + " top 1 % " + std::to_string(top_share(0.01));
  }
};

struct Shape {
  Degrees out, in;
  double inside = 0;          ///< citations within a subject
  double degree_bias = 0;     ///< mean degree of a labelled node over the mean
  double labelled_arcs = 0;   ///< arcs of labelled nodes over all
  double topic_coverage = 0;  ///< mean part of the papers in a labelled paper's topic that are labelled
};

Shape shape_of(const CitationModel& model) {
  const CitationLayout& layout = model.layout();
  std::vector<std::uint32_t> out(layout.papers(), 0), in(layout.papers(), 0);
  std::uint64_t inside = 0, all = 0;
  std::vector<std::uint64_t> cited;
  for (std::uint64_t place = 0; place < layout.papers(); ++place) {
    const Paper paper = layout.at(place);
    model.cite(paper, cited);
    out[place] = static_cast<std::uint32_t>(cited.size());
    for (const std::uint64_t one : cited) {
      ++in[one];
      inside += layout.at(one).subject == paper.subject ? 1 : 0;
    }
    all += cited.size();
  }
  Shape shape{Degrees(out), Degrees(in)};
  shape.inside = static_cast<double>(inside) / static_cast<double>(all);
  const std::vector<LabelledPaper> labelled = model.labelled();
  std::map<std::uint64_t, std::uint64_t> in_topic;
  std::uint64_t arcs = 0;
  for (const LabelledPaper& one : labelled) {
    const Paper paper = model.paper(one.node);
    ++in_topic[paper.topic];
    arcs += out[paper.place] + in[paper.place];
  }
  double coverage = 0;
  for (const LabelledPaper& one : labelled) {
    const Paper paper = model.paper(one.node);
    coverage += static_cast<double>(in_topic[paper.topic]) / static_cast<double>(paper.size);
  }
  shape.labelled_arcs = static_cast<double>(arcs) / (2 * static_cast<double>(all));
  shape.degree_bias = shape.labelled_arcs * static_cast<double>(layout.papers()) / static_cast<double>(labelled.size());
  shape.topic_coverage = coverage / static_cast<double>(labelled.size());
  MESSAGE("papers " << layout.papers() << ", citations " << all << ", inside a subject " << shape.inside
                    << "\nreferences: " << shape.out.text() << "\ncitations: " << shape.in.text() << "\nlabelled: arcs "
                    << shape.labelled_arcs << ", degree bias " << shape.degree_bias << ", coverage of topics "
                    << shape.topic_coverage);
  return shape;
}

void check_shape(const Shape& shape) {
  // References: the quantiles of cit-HepPh and cit-HepTh times 1.17, the ratio of the means.
  CHECK(std::abs(shape.out.zeros() - 0.075) < 0.03);
  CHECK(std::abs(shape.out.quantile(0.5) - 9.4) < 2);
  CHECK(std::abs(shape.out.quantile(0.9) - 34.5) < 5);
  CHECK(std::abs(shape.out.quantile(0.99) - 78.0) < 12);
  CHECK(shape.out.top_share(0.01) < 0.1);
  CHECK(shape.out.tail_index(0.001) > 2.5);
  // Citations: more papers without any, and a heavier tail.
  CHECK(std::abs(shape.in.zeros() - 0.16) < 0.06);
  CHECK(std::abs(shape.in.quantile(0.5) - 4.7) < 2);
  CHECK(std::abs(shape.in.quantile(0.9) - 35) < 6);
  CHECK(std::abs(shape.in.quantile(0.99) - 144) < 30);
  CHECK(shape.in.top_share(0.01) > 0.12);
  CHECK(shape.in.top_share(0.01) < 0.22);
  CHECK(shape.in.sorted.back() > 4 * shape.in.quantile(0.99));
  CHECK(shape.in.quantile(0.999) > 1.5 * shape.out.quantile(0.999));
  CHECK(shape.inside > 0.5);
  CHECK(shape.inside < 0.75);
  CHECK(shape.degree_bias > 1.1);
  CHECK(shape.degree_bias < 2.6);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a permutation takes every number once and its inverse finds it again") {
    for (const std::uint64_t size : {1U, 2U, 3U, 4U, 5U, 99U, 1000U, 1024U, 65'537U}) {
      const Permutation order(size, 7);
      std::vector<bool> taken(size, false);
      std::uint64_t kept = 0;
      for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t item = order.at(i);
        REQUIRE(item < size);
        CHECK(!taken[item]);
        taken[item] = true;
        CHECK(order.place_of(item) == i);
        kept += item == i ? 1 : 0;
      }
      if (size > 50) CHECK(kept < 12);  // one is expected
    }
    for (const std::uint64_t largest : {std::uint64_t{1} << 32, std::uint64_t{1} << 40}) {
      const Permutation order(largest, 7), other(largest, 8);
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t place = largest - 1 - i * i * 4001;
        CHECK(order.at(place) < largest);
        CHECK(order.place_of(order.at(place)) == place);
        CHECK(order.at(place) != other.at(place));
      }
    }
  }

  TEST_CASE("places: subjects and topics follow each other without a gap") {
    for (const auto& [papers, subjects] : std::vector<std::pair<NodeId, std::uint32_t>>{
             {1, 1}, {1, 9}, {7, 172}, {300, 172}, {50'000, 1}, {70'001, 172}}) {
      const CitationLayout layout(papers, subjects);
      CHECK(layout.papers() == papers);
      CHECK(layout.subjects() == subjects);
      std::uint64_t place = 0, topics = 0;
      for (std::uint32_t s = 0; s < layout.subjects(); ++s) {
        CHECK(layout.subject_first(s) == place);
        for (std::uint64_t t = 0; t < layout.subject_topics(s); ++t, ++topics) {
          const Paper oldest = layout.oldest(s, t);
          CHECK(oldest.size > 0);
          for (std::uint64_t member = 0; member < oldest.size; ++member, ++place) {
            const Paper paper = layout.at(place);
            CHECK(paper.place == place);
            CHECK(paper.subject == s);
            CHECK(paper.topic == topics);
            CHECK(paper.size == oldest.size);
            CHECK(paper.member == member);
            CHECK(oldest.sibling(member).place == place);
          }
        }
      }
      CHECK(place == papers);
      CHECK(topics == layout.topics());
    }
    // The guess of a topic at the size of ogbn-papers100M.
    const CitationLayout layout(CitationModel::kPapers, CitationModel::kSubjects);
    for (std::uint32_t s = 0; s < layout.subjects(); ++s) {
      for (std::uint64_t t = 0; t < layout.subject_topics(s); t += 97) {
        const Paper oldest = layout.oldest(s, t);
        CHECK(layout.at(oldest.place).member == 0);
        CHECK(layout.at(oldest.place + oldest.size - 1).member == oldest.size - 1);
        CHECK(layout.at(oldest.place + oldest.size - 1).topic == oldest.topic);
      }
    }
  }

  TEST_CASE("ages: members before a paper are those at an earlier time") {
    for (std::uint64_t size = 1; size < 40; ++size) {
      for (std::uint64_t other_size = 1; other_size < 40; ++other_size) {
        for (std::uint64_t member = 0; member < other_size; ++member) {
          const Paper other{member, 1, other_size, member, 0};
          std::uint64_t before = 0;  // (2 k + 1) / (2 size) < (2 member + 1) / (2 other_size)
          while (before < size && (2 * before + 1) * other_size < (2 * member + 1) * size) ++before;
          CHECK(Paper{0, 0, size, 0, 0}.members_before(other) == before);
        }
      }
    }
  }

  TEST_CASE("citations: as many as asked for, all to earlier papers, the same however the places are cut" *
            doctest::test_suite("slow")) {
    for (const auto& [papers, citations] : std::vector<std::pair<NodeId, std::uint64_t>>{{2, 0},
                                                                                         {2, 3},
                                                                                         {700, 0},
                                                                                         {700, 5},
                                                                                         {700, 9999},
                                                                                         {30'000, 1'000},
                                                                                         {30'000, 436'438},
                                                                                         {30'000, 4'000'001}}) {
      const CitationModel model(papers, citations, papers < 1000 ? 1 : 172, 3);
      std::uint64_t sum = 0, repeated = 0;
      std::vector<std::uint64_t> cited;
      for (std::uint64_t place = 0; place < papers; ++place) {
        const Paper paper = model.layout().at(place);
        model.cite(paper, cited);
        CHECK(cited.size() == model.degree(paper));
        for (const std::uint64_t one : cited) CHECK(model.layout().at(one).before(paper));
        sum += cited.size();
        repeated += cited.size() - std::set<std::uint64_t>(cited.begin(), cited.end()).size();
      }
      CHECK(sum == citations);
      if (citations == 436'438) CHECK(repeated < citations / 200);
      std::vector<Edge> whole, cut;
      model.append_edges(0, papers, whole);
      for (std::uint64_t place = 0; place < papers; place += 37)
        model.append_edges(place, std::min<std::uint64_t>(papers, place + 37), cut);
      CHECK(whole.size() == citations);
      CHECK(whole == cut);
    }
    CHECK_THROWS_AS(CitationModel(1, 5, 172, 1), UsageError);
    CHECK_THROWS_AS(CitationModel(3, 5, 70'000, 1), UsageError);
    CHECK_THROWS_AS(CitationModel(3, 5 * 4096, 1, 1), UsageError);
  }

  TEST_CASE("seeds and threads: another seed cites otherwise, another number of threads does not") {
    std::vector<Edge> one, two, other;
    {
      const ThreadLimit limit(1);
      CitationModel(40'000, 500'000, 20, 1).append_edges(10'000, 11'000, one);
    }
    {
      const ThreadLimit limit(2);
      CitationModel(40'000, 500'000, 20, 1).append_edges(10'000, 11'000, two);
    }
    CitationModel(40'000, 500'000, 20, 2).append_edges(10'000, 11'000, other);
    CHECK(one == two);
    CHECK(one != other);
  }

  TEST_CASE("labelled papers: the share of ogbn-papers100M in every subject, oldest first, none twice") {
    for (const NodeId papers : {1U, 50U, 2000U, 200'000U}) {
      const CitationModel model(papers, papers < 1000 ? 0 : mean_edges(papers), 40, 1);
      const std::vector<LabelledPaper> labelled = model.labelled();
      CHECK(labelled.size() == std::uint64_t{papers} * CitationModel::kLabelled / CitationModel::kPapers);
      std::set<NodeId> nodes;
      std::vector<double> in_subject(40, 0);
      for (std::size_t i = 0; i < labelled.size(); ++i) {
        nodes.insert(labelled[i].node);
        const Paper paper = model.paper(labelled[i].node);
        CHECK(paper.subject == labelled[i].subject);
        CHECK(model.node_at(paper.place) == labelled[i].node);
        if (i > 0) CHECK(!paper.before(model.paper(labelled[i - 1].node)));
        ++in_subject[paper.subject];
      }
      CHECK(nodes.size() == labelled.size());
      for (std::uint32_t s = 0; s < 40; ++s)
        CHECK(std::abs(in_subject[s] - static_cast<double>(model.layout().subject_papers(s)) *
                                           CitationModel::kLabelled / CitationModel::kPapers) <= 1);
    }
  }

  TEST_CASE("the graph has the shape of the arXiv's citation graphs, and labels lie where degrees are larger") {
    check_shape(shape_of(CitationModel(200'000, mean_edges(200'000), CitationModel::kSubjects, 1)));
  }

  TEST_CASE("where a subject's share of the labels is larger than a topic, they cover whole topics" *
            doctest::test_suite("slow")) {
    // 100,000 papers a subject; the smallest one would have about 200,000 at the size of
    // ogbn-papers100M.
    const Shape shape = shape_of(CitationModel(400'000, mean_edges(400'000), 4, 1));
    CHECK(shape.degree_bias > 1.2);
    CHECK(shape.degree_bias < 2.2);
    CHECK(shape.topic_coverage > 0.3);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a hundredth of ogbn-papers100M has the same shape") {
    check_shape(shape_of(CitationModel(1'110'600, mean_edges(1'110'600), CitationModel::kSubjects, 2)));
  }
}

}  // namespace unweave
