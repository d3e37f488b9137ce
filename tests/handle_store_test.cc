// SPDX-License-Identifier: Apache-2.0
#include "handle_store.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace hip_stream_pool {
namespace {

using AddResult = HandleStore::AddResult;
using ClaimState = HandleStore::ClaimState;
using ParkResult = HandleStore::ParkResult;
using Ticket = HandleStore::Ticket;

constexpr HandleStore::Kind kPlain{0, 0};
constexpr HandleStore::Kind kUrgent{0, -1};
constexpr HandleStore::Kind kNonBlocking{1, 0};
constexpr int kNoLimit = 1 << 20;

HandleStore::Handle Handle(uintptr_t value) {
  return reinterpret_cast<HandleStore::Handle>(value);
}

void Park(HandleStore& store, HandleStore::Handle handle) {
  HandleStore::ClaimResult claim = store.Claim(handle);
  ASSERT_EQ(claim.state, ClaimState::kClaimed);
  ASSERT_EQ(store.Park(claim.ticket, kNoLimit), ParkResult::kParked);
}

TEST(HandleStoreTest, LendsNothingBeforeSomethingIsParked) {
  HandleStore store;
  EXPECT_FALSE(store.Take(kPlain));
  store.Add(Handle(16), kPlain, 0);
  EXPECT_FALSE(store.Take(kPlain));
}

TEST(HandleStoreTest, LendsTheEarliestCreatedFirstWhateverTheOrderOfParking) {
  HandleStore store;
  std::vector<uintptr_t> created = {64, 16, 80, 32, 48};
  for (uintptr_t h : created) store.Add(Handle(h), kPlain, 0);
  std::vector<uintptr_t> parked = created;
  std::sort(parked.begin(), parked.end());
  do {
    for (uintptr_t h : parked) Park(store, Handle(h));
    for (uintptr_t h : created) {
      const Ticket ticket = store.Take(kPlain);
      ASSERT_EQ(ticket.handle(), Handle(h));
      ASSERT_TRUE(store.Confirm(ticket));
    }
  } while (std::next_permutation(parked.begin(), parked.end()));
}

TEST(HandleStoreTest, KeepsKindsApart) {
  HandleStore store;
  store.Add(Handle(16), kPlain, 0);
  store.Add(Handle(32), kUrgent, 0);
  store.Add(Handle(48), kNonBlocking, 0);
  for (uintptr_t h : {16, 32, 48}) Park(store, Handle(h));
  EXPECT_EQ(store.Take(kUrgent).handle(), Handle(32));
  EXPECT_EQ(store.Take(kNonBlocking).handle(), Handle(48));
  EXPECT_FALSE(store.Take(kUrgent));
  EXPECT_EQ(store.ParkedOf(kPlain), 1);
  EXPECT_EQ(store.ParkedOf(kUrgent), 0);
}

TEST(HandleStoreTest, TellsApartWhatCanBeClaimed) {
  HandleStore store;
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kUnknown);
  store.Add(Handle(16), kPlain, 0);
  HandleStore::ClaimResult claim = store.Claim(Handle(16));
  EXPECT_EQ(claim.state, ClaimState::kClaimed);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked) << "claimed";
  store.Park(claim.ticket, kNoLimit);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked) << "parked";
  store.SetAside(store.Take(kPlain));
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked) << "set aside";
  ASSERT_EQ(store.TakeSetAside().size(), 1u);
}

TEST(HandleStoreTest, ParksUpToTheLimitOfEachKind) {
  HandleStore store;
  for (uintptr_t h : {16, 32, 48}) store.Add(Handle(h), kPlain, 0);
  store.Add(Handle(64), kUrgent, 0);
  const auto park = [&](uintptr_t h, int limit) {
    Ticket ticket = store.Claim(Handle(h)).ticket;
    ParkResult result = store.Park(ticket, limit);
    if (result == ParkResult::kOverLimit) {
      EXPECT_TRUE(store.Remove(ticket)) << "the ticket stays good";
    }
    return result;
  };
  EXPECT_EQ(park(16, 2), ParkResult::kParked);
  EXPECT_EQ(park(32, 2), ParkResult::kParked);
  EXPECT_EQ(park(48, 2), ParkResult::kOverLimit);
  EXPECT_EQ(park(64, 2), ParkResult::kParked);
  EXPECT_EQ(store.Claim(Handle(48)).state, ClaimState::kUnknown);
  store.Add(Handle(80), kPlain, 0);
  EXPECT_EQ(park(80, 0), ParkResult::kOverLimit);
}

TEST(HandleStoreTest, ATicketWorksOnce) {
  HandleStore store;
  store.Add(Handle(16), kPlain, 0);
  Ticket ticket = store.Claim(Handle(16)).ticket;
  EXPECT_EQ(store.Park(ticket, kNoLimit), ParkResult::kParked);
  EXPECT_EQ(store.Park(ticket, kNoLimit), ParkResult::kForgotten);
  EXPECT_FALSE(store.Remove(ticket));
  store.SetAside(ticket);
  store.PutBack(ticket);
  EXPECT_FALSE(store.Confirm(ticket));
  EXPECT_EQ(store.GetCounts().parked_now, 1);
  EXPECT_EQ(store.Take(kPlain).handle(), Handle(16));
  EXPECT_FALSE(store.Take(kPlain));
}

TEST(HandleStoreTest, WhatIsTakenIsLentUnlessItIsGivenUp) {
  HandleStore store;
  store.Add(Handle(16), kPlain, 0);
  Park(store, Handle(16));
  Ticket ticket = store.Take(kPlain);
  EXPECT_FALSE(store.Take(kPlain));
  store.PutBack(ticket);
  EXPECT_EQ(store.GetCounts().reused, 0);
  EXPECT_EQ(store.GetCounts().lent_now, 0);
  ticket = store.Take(kPlain);
  EXPECT_TRUE(store.Confirm(ticket));
  EXPECT_EQ(store.GetCounts().reused, 1);
  EXPECT_EQ(store.GetCounts().lent_now, 1);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kClaimed);
}

// The four ways in which a taker can end the loan.
using EndLoan = void (*)(HandleStore&, const Ticket&);
constexpr EndLoan kEndLoan[] = {
    [](HandleStore& store, const Ticket& ticket) {
      EXPECT_FALSE(store.Confirm(ticket));
    },
    [](HandleStore& store, const Ticket& ticket) { store.PutBack(ticket); },
    [](HandleStore& store, const Ticket& ticket) { store.SetAside(ticket); },
    [](HandleStore& store, const Ticket& ticket) {
      EXPECT_FALSE(store.Remove(ticket));
    }};

TEST(HandleStoreTest, WhatIsInvalidatedWhileItIsTakenIsNotLent) {
  for (EndLoan end_loan : kEndLoan) {
    HandleStore store;
    store.Add(Handle(16), kPlain, 0);
    Park(store, Handle(16));
    Ticket ticket = store.Take(kPlain);
    store.Invalidate();
    end_loan(store, ticket);
    EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kUnknown);
    EXPECT_EQ(store.Add(Handle(16), kPlain, 1), AddResult::kLent);
  }
}

TEST(HandleStoreTest, WhatIsHeldBackForATakerIsParkedWhenHeLearnsOfIt) {
  for (EndLoan end_loan : kEndLoan) {
    for (bool invalidate : {true, false}) {
      HandleStore store;
      store.Add(Handle(16), kPlain, 0);
      Park(store, Handle(16));
      Ticket ticket = store.Take(kPlain);
      if (invalidate) store.Invalidate();
      EXPECT_EQ(store.Add(Handle(16), kPlain, 1), AddResult::kHeldBack);
      end_loan(store, ticket);
      EXPECT_EQ(store.Take(kPlain).identity(), 1u);
    }
  }
}

TEST(HandleStoreTest, WhatIsTakenCanBeClaimedWhenTheLoanIsConfirmed) {
  HandleStore store;
  store.Add(Handle(16), kPlain, 0);
  Park(store, Handle(16));
  Ticket ticket = store.Take(kPlain);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked)
      << "its last owner destroys it a second time";
  EXPECT_TRUE(store.Confirm(ticket));
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kClaimed);
}

TEST(HandleStoreTest, ALoanThatDiedBeforeItWasConfirmedIsNotCounted) {
  for (bool invalidate : {true, false}) {
    HandleStore store;
    store.Add(Handle(16), kPlain, 0);
    Park(store, Handle(16));
    Ticket ticket = store.Take(kPlain);
    if (invalidate) {
      store.Invalidate();
    } else {
      store.Forget(Handle(16));
    }
    EXPECT_FALSE(store.Confirm(ticket));
    EXPECT_EQ(store.GetCounts().reused, 0);
    EXPECT_EQ(store.GetCounts().lent_now, 0);
  }
}

TEST(HandleStoreTest, WhatIsPutBackIsAtItsOldPlace) {
  HandleStore store;
  for (uintptr_t h : {32, 16}) store.Add(Handle(h), kPlain, 0);
  for (uintptr_t h : {32, 16}) Park(store, Handle(h));
  store.PutBack(store.Take(kPlain));
  EXPECT_EQ(store.GetCounts().parked_now, 2);
  EXPECT_EQ(store.GetCounts().parked_total, 2);
  EXPECT_EQ(store.Take(kPlain).handle(), Handle(32));
}

TEST(HandleStoreTest, WhatIsSetAsideIsNeverLentAndCanBeTaken) {
  HandleStore store;
  store.Add(Handle(16), kPlain, 0);
  Park(store, Handle(16));
  store.SetAside(store.Take(kPlain));
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_TRUE(store.TakeParked().empty());
  std::vector<Ticket> taken = store.TakeSetAside();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_TRUE(store.TakeSetAside().empty());
  EXPECT_TRUE(store.Remove(taken[0]));
  EXPECT_FALSE(store.Has(Handle(16)));
}

TEST(HandleStoreTest, TakeParkedTakesEveryKindAndLeavesWhatIsLent) {
  HandleStore store;
  for (uintptr_t h : {16, 32}) store.Add(Handle(h), kPlain, 0);
  store.Add(Handle(48), kUrgent, 0);
  Park(store, Handle(16));
  Park(store, Handle(48));
  std::vector<Ticket> taken = store.TakeParked();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_FALSE(store.Take(kUrgent));
  EXPECT_EQ(store.GetCounts().parked_now, 0);
  EXPECT_EQ(store.GetCounts().lent_now, 1);
  for (const Ticket& ticket : taken) EXPECT_TRUE(store.Remove(ticket));
}

TEST(HandleStoreTest, InvalidateEndsLoansClaimsAndParking) {
  HandleStore store;
  for (uintptr_t h : {16, 32, 48, 64}) store.Add(Handle(h), kPlain, 0);
  Park(store, Handle(16));
  Park(store, Handle(64));
  store.SetAside(store.Take(kPlain));  // 16
  Ticket claimed = store.Claim(Handle(32)).ticket;
  EXPECT_EQ(store.Invalidate(), 2) << "one parked, one set aside";
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_EQ(store.Park(claimed, kNoLimit), ParkResult::kForgotten);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kUnknown);
  EXPECT_EQ(store.Claim(Handle(32)).state, ClaimState::kUnknown);
  EXPECT_EQ(store.Claim(Handle(48)).state, ClaimState::kDead) << "was lent";
  EXPECT_EQ(store.Claim(Handle(48)).state, ClaimState::kUnknown);
  EXPECT_EQ(store.GetCounts().lent_now, 0);
  EXPECT_EQ(store.GetCounts().parked_now, 0);
}

TEST(HandleStoreTest, ANewHandleTakesThePlaceOfOneThatThePoolHad) {
  HandleStore store;
  EXPECT_EQ(store.Add(Handle(16), kPlain, 1), AddResult::kLent);
  Park(store, Handle(16));
  EXPECT_EQ(store.Add(Handle(16), kUrgent, 2), AddResult::kLentForStale);
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_EQ(store.GetCounts().parked_now, 0);
  EXPECT_EQ(store.GetCounts().lent_now, 1);
  Ticket old = store.Claim(Handle(16)).ticket;
  EXPECT_EQ(old.identity(), 2u);
  EXPECT_EQ(store.Add(Handle(16), kPlain, 3), AddResult::kLentForStale);
  EXPECT_FALSE(store.Remove(old));
  EXPECT_EQ(store.Claim(Handle(16)).ticket.identity(), 3u);
}

TEST(HandleStoreTest, ANewHandleIsHeldBackUntilTheOwnerOfTheOldOneIsDone) {
  for (bool invalidate : {true, false}) {
    HandleStore store;
    store.Add(Handle(16), kPlain, 1);
    if (invalidate) store.Invalidate();
    EXPECT_EQ(store.Add(Handle(16), kUrgent, 2), AddResult::kHeldBack);
    EXPECT_EQ(store.GetCounts().lent_now, 0);
    EXPECT_FALSE(store.Take(kUrgent));
    EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kDead);
    EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked);
    const Ticket ticket = store.Take(kUrgent);
    ASSERT_TRUE(ticket);
    EXPECT_EQ(ticket.identity(), 2u);
  }
}

// An owner may wait for ever, and more would be held back each time.
TEST(HandleStoreTest, OwnersAreWaitedForUntilTheNextInvalidate) {
  for (bool is_held_back : {false, true}) {
    HandleStore store;
    store.Add(Handle(16), kPlain, 1);
    store.Invalidate();
    if (is_held_back) store.Add(Handle(16), kPlain, 2);
    EXPECT_EQ(store.Invalidate(), 0);
    EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kUnknown);
    EXPECT_EQ(store.Add(Handle(16), kPlain, 3), AddResult::kLent);
  }
}

TEST(HandleStoreTest, WhatIsHeldBackIsTakenWithWhatIsParked) {
  for (bool owner_claims_meanwhile : {false, true}) {
    HandleStore store;
    store.Add(Handle(16), kPlain, 1);
    store.Invalidate();
    store.Add(Handle(16), kPlain, 2);
    const std::vector<Ticket> taken = store.TakeParked();
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].identity(), 2u);
    if (owner_claims_meanwhile) {
      EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kDead);
    }
    EXPECT_TRUE(store.Remove(taken[0]));
    EXPECT_FALSE(store.Has(Handle(16)));
    EXPECT_EQ(store.Add(Handle(16), kPlain, 3),
              owner_claims_meanwhile ? AddResult::kLent : AddResult::kHeldBack)
        << "its owner is still waited for";
  }
}

TEST(HandleStoreTest, WhatIsForgottenIsUnknownWhoeverHadIt) {
  HandleStore store;
  for (uintptr_t h : {16, 32, 48}) store.Add(Handle(h), kPlain, 0);
  Park(store, Handle(16));
  Ticket claimed = store.Claim(Handle(32)).ticket;
  for (uintptr_t h : {16, 32, 48}) EXPECT_TRUE(store.Forget(Handle(h)));
  EXPECT_FALSE(store.Forget(Handle(16)));
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_EQ(store.Park(claimed, kNoLimit), ParkResult::kForgotten);
  EXPECT_EQ(store.Claim(Handle(48)).state, ClaimState::kUnknown);
  EXPECT_EQ(store.GetCounts().parked_now, 0);
  EXPECT_EQ(store.GetCounts().lent_now, 0);
}

// Eight threads create, lend, park, set aside and remove at random, and each
// checks that whatever the store gives it is given to nobody else.
TEST(HandleStoreTest, NoHandleHasTwoHoldersWithManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kSteps = 20000;
  HandleStore store;
  std::vector<std::atomic<int>> holders(kThreads * kSteps + 1);
  std::atomic<uintptr_t> next{1};
  std::atomic<int> faults{0};
  const auto take = [&](HandleStore::Handle h) {
    if (holders[reinterpret_cast<uintptr_t>(h)]++ != 0) ++faults;
  };
  const auto give = [&](HandleStore::Handle h) {
    if (--holders[reinterpret_cast<uintptr_t>(h)] != 0) ++faults;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<HandleStore::Handle> mine;
      for (int step = 0; step < kSteps; ++step) {
        const HandleStore::Kind kind = random() % 2 ? kPlain : kUrgent;
        switch (random() % 8) {
          case 0: {
            mine.push_back(Handle(next++));
            take(mine.back());
            store.Add(mine.back(), kind, 0);
            break;
          }
          case 1:
          case 2:
            if (const Ticket ticket = store.Take(kind)) {
              take(ticket.handle());
              if (random() % 4 == 0) {
                give(ticket.handle());
                store.PutBack(ticket);
              } else {
                if (!store.Confirm(ticket)) ++faults;
                mine.push_back(ticket.handle());
              }
            }
            break;
          case 3:
            for (const Ticket& ticket : store.TakeParked()) {
              take(ticket.handle());
              give(ticket.handle());
              if (!store.Remove(ticket)) ++faults;
            }
            break;
          default:
            if (mine.empty()) break;
            std::swap(mine[random() % mine.size()], mine.back());
            HandleStore::ClaimResult claim = store.Claim(mine.back());
            if (claim.state != ClaimState::kClaimed) {
              ++faults;
              break;
            }
            give(mine.back());
            if (store.Park(claim.ticket, 16) == ParkResult::kOverLimit) {
              if (!store.Remove(claim.ticket)) ++faults;
            }
            mine.pop_back();
        }
      }
      for (HandleStore::Handle h : mine) {
        if (!store.Claim(h).ticket) ++faults;
        give(h);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(store.GetCounts().lent_now, 0);
  EXPECT_GT(store.GetCounts().reused, 0);
}

}  // namespace
}  // namespace hip_stream_pool
