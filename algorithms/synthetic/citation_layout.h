// algorithms/synthetic/citation_layout.h - which papers a synthetic citation graph has: subjects,
// topics within them, ages.
//
// Papers stand at places 0 .. n - 1: subject after subject, topic after topic, each topic from its
// oldest paper to its newest. All topics span the same time: paper k of a topic of m papers
// appeared at (k + 1/2) / m. Sizes follow from a formula, so a place is found without a table of
// papers or topics.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

/// One paper, with what is known about its topic.
struct Paper {
  std::uint64_t place = 0;
  std::uint64_t topic = 0;   ///< counted through all subjects
  std::uint64_t size = 0;    ///< papers of the topic
  std::uint64_t member = 0;  ///< its place in the topic: 0 for the oldest paper
  std::uint32_t subject = 0;

  [[nodiscard]] std::uint64_t first() const noexcept { return place - member; }
  /// Another paper of the same topic.
  [[nodiscard]] Paper sibling(std::uint64_t other) const noexcept {
    return {place - member + other, topic, size, other, subject};
  }
  [[nodiscard]] bool before(const Paper& other) const noexcept { return member < members_before(other); }
  /// How many papers of this one's topic are older than another paper.
  [[nodiscard]] std::uint64_t members_before(const Paper& other) const noexcept {
    return ((2 * other.member + 1) * size + other.size - 1) / (2 * other.size);
  }
};

/// Immutable; any number of threads at once. Memory: the subjects.
class CitationLayout {
 public:
  static constexpr std::uint64_t kTopicPapers = 600;  ///< papers of a topic, on average; the largest has twice as many

  /// `papers` >= 1 in `subjects` >= 1 subjects, whose sizes fall like 1 / (s + 8): the first has
  /// some 20 times the papers of the last of 172.
  CitationLayout(NodeId papers, std::uint32_t subjects);

  [[nodiscard]] std::uint64_t papers() const noexcept { return subjects_.back().first; }
  [[nodiscard]] std::uint32_t subjects() const noexcept { return static_cast<std::uint32_t>(subjects_.size() - 1); }
  [[nodiscard]] std::uint64_t topics() const noexcept { return subjects_.back().first_topic; }
  [[nodiscard]] std::uint64_t subject_first(std::uint64_t subject) const noexcept { return subjects_[subject].first; }
  [[nodiscard]] std::uint64_t subject_papers(std::uint64_t subject) const noexcept {
    return subjects_[subject + 1].first - subjects_[subject].first;
  }
  [[nodiscard]] std::uint64_t subject_topics(std::uint64_t subject) const noexcept {
    return subjects_[subject + 1].first_topic - subjects_[subject].first_topic;
  }
  /// The paper at a place.
  [[nodiscard]] Paper at(std::uint64_t place) const noexcept;
  /// The oldest paper of a topic of a subject, 0 <= topic < subject_topics(subject).
  [[nodiscard]] Paper oldest(std::uint32_t subject, std::uint64_t topic) const noexcept;

 private:
  /// What stands before it, and the law of its topics' sizes, which grow evenly up to twice the
  /// average.
  struct Subject {
    std::uint64_t first = 0;
    std::uint64_t first_topic = 0;
    std::uint64_t least = 0;  // papers of the smallest topic
    double growth = 0;        // papers before topic t of the subject: least * t + growth * t^2, rounded down

    [[nodiscard]] std::uint64_t before_topic(std::uint64_t topic) const noexcept {
      const auto t = static_cast<double>(topic);
      return topic * least + static_cast<std::uint64_t>(growth * (t * t));
    }
  };
  /// Papers of a subject before one of its topics, or all of them before topic subject_topics().
  [[nodiscard]] std::uint64_t before_topic(std::uint64_t subject, std::uint64_t topic) const noexcept {
    return topic == subject_topics(subject) ? subject_papers(subject) : subjects_[subject].before_topic(topic);
  }

  std::vector<Subject> subjects_;     // and the end
  std::vector<std::uint32_t> guide_;  // subject of the first place of every 2^guide_shift_ places
  int guide_shift_ = 0;
};

}  // namespace unweave
