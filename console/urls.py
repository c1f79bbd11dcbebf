"""Every address of the console."""

from django.urls import path

from console.views import job, money, operate, queue, rounds, signing, site, tenants, what_if

app_name = "console"
urlpatterns = [
    path("", signing.home, name="home"),
    path("sign-in/", signing.sign_in, name="sign-in"),
    path("sign-out/", signing.sign_out, name="sign-out"),
    path("choose-tenant/", signing.choose_tenant, name="choose-tenant"),
    path("site/", site.site, name="site"),
    path("site/live/", site.site_live, name="site-live"),
    path("clusters/<int:cluster_id>/racks/<int:rack_id>/", site.rack, name="rack"),
    path("clusters/<int:cluster_id>/power-curve/", site.power_curve, name="power-curve"),
    path("clusters/<int:cluster_id>/price-curve/", site.price_curve, name="price-curve"),
    path("clusters/<int:cluster_id>/policy/", operate.policy, name="policy"),
    path("clusters/<int:cluster_id>/policy/set/", operate.set_policy, name="set-policy"),
    path("clusters/<int:cluster_id>/power/", operate.power, name="power"),
    path("clusters/<int:cluster_id>/power/order/", operate.order_power, name="order-power"),
    path("power-budgets/<int:budget_id>/withdraw/", operate.withdraw_power, name="withdraw-power"),
    path("nodes/<int:node_id>/", site.node, name="node"),
    path("nodes/<int:node_id>/live/", site.node_live, name="node-live"),
    path("nodes/<int:node_id>/drain/", operate.drain, name="drain"),
    path("nodes/<int:node_id>/resume/", operate.resume, name="resume"),
    path("queue/", queue.queue, name="queue"),
    path("queue/live/", queue.queue_live, name="queue-live"),
    path("jobs/", queue.jobs, name="jobs"),
    path("jobs/<int:job_id>/", job.job, name="job"),
    path("jobs/<int:job_id>/live/", job.job_live, name="job-live"),
    path("jobs/<int:job_id>/gpus-curve/", job.gpus_curve, name="gpus-curve"),
    path("jobs/<int:job_id>/log/<int:log_id>/", job.log_tail, name="log-tail"),
    path("jobs/<int:job_id>/cancel/", job.cancel, name="cancel"),
    path("jobs/<int:job_id>/hold/", job.hold, name="hold"),
    path("jobs/<int:job_id>/release/", job.release, name="release"),
    path("jobs/<int:job_id>/resubmit/", job.resubmit, name="resubmit"),
    path("rounds/", rounds.rounds, name="rounds"),
    path("rounds/<int:round_id>/", rounds.one_round, name="round"),
    path("money/", money.money, name="money"),
    path("tenants/", tenants.tenants, name="tenants"),
    path("tenants/<int:tenant_id>/", tenants.tenant, name="tenant"),
    path("what-if/", what_if.what_if, name="what-if"),
    path("what-if/ask/", what_if.ask, name="ask"),
    path("what-if/<int:simulation_id>/", what_if.answer, name="answer"),
    path("what-if/<int:simulation_id>/live/", what_if.answer_live, name="answer-live"),
    path("<path:rest>", signing.nothing),
]
