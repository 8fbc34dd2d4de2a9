// algorithms/synthetic/citation_layout.cpp - finds the subject, topic and age of a place by
// formulas.
#include "algorithms/synthetic/citation_layout.h"

#include <algorithm>
#include <cmath>

namespace unweave {

CitationLayout::CitationLayout(NodeId papers, std::uint32_t subjects) : subjects_(1) {
  constexpr std::uint64_t kLeast = 8;  // papers of a topic, where the subject has as many
  const auto weight = [](std::uint32_t subject) { return 1.0 / (subject + 8.0); };
  double all = 0;
  for (std::uint32_t s = 0; s < subjects; ++s) all += weight(s);
  double sum = 0;
  for (std::uint32_t s = 0; s < subjects; ++s) {
    sum += weight(s);
    Subject& subject = subjects_.back();
    Subject next;
    const auto end = static_cast<std::uint64_t>(sum / all * static_cast<double>(papers));
    next.first = s + 1 == subjects ? papers : std::clamp<std::uint64_t>(end, subject.first, papers);
    next.first_topic = subject.first_topic;
    if (const std::uint64_t size = next.first - subject.first; size > 0) {
      const std::uint64_t topics = std::max<std::uint64_t>(1, size / kTopicPapers);
      next.first_topic += topics;
      subject.least = std::min(kLeast, size / topics);
      const auto all_topics = static_cast<double>(topics);
      subject.growth = static_cast<double>(size - topics * subject.least) / (all_topics * all_topics);
    }
    subjects_.push_back(next);
  }
  constexpr std::uint64_t kGuides = 4096;
  while (std::uint64_t{papers} >> guide_shift_ >= kGuides) ++guide_shift_;
  std::uint32_t subject = 0;
  for (std::uint64_t i = 0; i << guide_shift_ < papers; ++i) {
    while (subjects_[subject + 1].first <= i << guide_shift_) ++subject;
    guide_.push_back(subject);
  }
}

Paper CitationLayout::oldest(std::uint32_t subject, std::uint64_t topic) const noexcept {
  const std::uint64_t first = before_topic(subject, topic);
  const std::uint64_t size = before_topic(subject, topic + 1) - first;
  return {subjects_[subject].first + first, subjects_[subject].first_topic + topic, size, 0, subject};
}

Paper CitationLayout::at(std::uint64_t place) const noexcept {
  std::uint32_t index = guide_[place >> guide_shift_];
  while (subjects_[index + 1].first <= place) ++index;
  const Subject& subject = subjects_[index];
  const std::uint64_t topics = subjects_[index + 1].first_topic - subject.first_topic;
  const std::uint64_t local = place - subject.first;
  // The root of before_topic without its rounding is a guess, a topic off at most; the sizes
  // decide.
  const auto papers = static_cast<double>(local);
  const auto least = static_cast<double>(subject.least);
  const double guess = 2 * papers / (least + std::sqrt(least * least + 4 * subject.growth * papers));
  std::uint64_t topic = std::min(topics - 1, static_cast<std::uint64_t>(guess));
  std::uint64_t first = subject.before_topic(topic);
  while (first > local) first = subject.before_topic(--topic);
  std::uint64_t end = before_topic(index, topic + 1);
  while (end <= local) {
    first = end;
    end = before_topic(index, ++topic + 1);
  }
  return {place, subject.first_topic + topic, end - first, local - first, index};
}

}  // namespace unweave
