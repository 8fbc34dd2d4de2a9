// engine/ingest/repeated_rows.cpp - opens a matrix again at its end, as often as there are copies.
#include "engine/ingest/repeated_rows.h"

#include <utility>

namespace unweave {
namespace {

class RepeatedRows final : public FeatureReader {
 public:
  RepeatedRows(std::unique_ptr<FeatureReader> first, std::uint32_t times,
               std::function<std::unique_ptr<FeatureReader>()> again)
      : FeatureReader(first->rows() * times, first->columns(), first->sparse()),
        reader_(std::move(first)),
        left_(times - 1),
        again_(std::move(again)) {}

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    while (!reader_->next(batch, max_values)) {
      if (left_ == 0) return false;
      --left_;
      before_ += reader_->rows();
      reader_ = again_();
    }
    batch.first_row += before_;
    return true;
  }

 private:
  std::unique_ptr<FeatureReader> reader_;
  std::uint32_t left_;
  std::uint64_t before_ = 0;  ///< rows of the readers that ended
  std::function<std::unique_ptr<FeatureReader>()> again_;
};

}  // namespace

std::unique_ptr<FeatureReader> repeat_rows(std::unique_ptr<FeatureReader> first, std::uint32_t times,
                                           std::function<std::unique_ptr<FeatureReader>()> again) {
  if (times == 1) return first;
  return std::make_unique<RepeatedRows>(std::move(first), times, std::move(again));
}

}  // namespace unweave
